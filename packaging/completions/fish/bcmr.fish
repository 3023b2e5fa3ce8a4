# Print an optspec for argparse to handle cmd's options that are independent of any subcommand.
function __fish_bcmr_global_optspecs
    string join \n ssh-config= ssh-port= ssh-identity= ssh-jump= ssh-cipher= via= retries= no-retry stall= min-rate= config= remote-command= h/help V/version
end

function __fish_bcmr_needs_command
    # Figure out if the current invocation already has a command.
    set -l cmd (commandline -opc)
    set -e cmd[1]
    argparse -s (__fish_bcmr_global_optspecs) -- $cmd 2>/dev/null
    or return
    if set -q argv[1]
        # Also print the command, so this can be used to figure out what it is.
        echo $argv[1]
        return 1
    end
    return 0
end

function __fish_bcmr_using_subcommand
    set -l cmd (__fish_bcmr_needs_command)
    test -z "$cmd"
    and return 1
    contains -- $cmd[1] $argv
end

complete -c bcmr -n "__fish_bcmr_needs_command" -l ssh-config -d 'Use this OpenSSH configuration file instead of the user\'s' -r -F
complete -c bcmr -n "__fish_bcmr_needs_command" -l ssh-port -d 'Connect to this port; a port in scp://host:port/ comes first' -r
complete -c bcmr -n "__fish_bcmr_needs_command" -l ssh-identity -d 'Offer this key; may be given several times' -r -F
complete -c bcmr -n "__fish_bcmr_needs_command" -l ssh-jump -d 'Connect through this host, or these, separated by commas' -r
complete -c bcmr -n "__fish_bcmr_needs_command" -l ssh-cipher -d 'The cipher of ssh: AES-GCM where nothing else is configured and the processor has AES, or as ssh chooses' -r -f -a "auto\t'AES-GCM first, where the configuration leaves it to ssh and the processor has AES instructions'
keep\t'ssh, as it is configured'"
complete -c bcmr -n "__fish_bcmr_needs_command" -l via -d 'Talk to this local command instead of ssh; its paths are written \':path\'' -r
complete -c bcmr -n "__fish_bcmr_needs_command" -l retries -d 'When the link is lost, try this often to go on, after 1, 2, 4 and so on up to 60 seconds' -r
complete -c bcmr -n "__fish_bcmr_needs_command" -l stall -d 'Take the link for lost when no byte has moved for so many seconds; 0 for never' -r
complete -c bcmr -n "__fish_bcmr_needs_command" -l min-rate -d 'Take the link for lost when it moves content at less than this for 30 seconds: 10KiB, 1MiB' -r
complete -c bcmr -n "__fish_bcmr_needs_command" -l config -d 'Read defaults from this file instead of ~/.config/bcmr/config.toml' -r -F
complete -c bcmr -n "__fish_bcmr_needs_command" -l remote-command -d 'Start this on the remote machine instead of bcmr-serve' -r
complete -c bcmr -n "__fish_bcmr_needs_command" -l no-retry -d 'When the link is lost, end'
complete -c bcmr -n "__fish_bcmr_needs_command" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c bcmr -n "__fish_bcmr_needs_command" -s V -l version -d 'Print version'
complete -c bcmr -n "__fish_bcmr_needs_command" -f -a "copy" -d 'Copy files or directories to or from a server'
complete -c bcmr -n "__fish_bcmr_needs_command" -f -a "ls" -d 'List what is in directories on a server'
complete -c bcmr -n "__fish_bcmr_needs_command" -f -a "stat" -d 'Say what stands at paths on a server'
complete -c bcmr -n "__fish_bcmr_needs_command" -f -a "du" -d 'Sum up the sizes of files on a server'
complete -c bcmr -n "__fish_bcmr_needs_command" -f -a "hash" -d 'Print the BLAKE3 hashes of files on a server'
complete -c bcmr -n "__fish_bcmr_needs_command" -f -a "mkdir" -d 'Make directories on a server, with their parents'
complete -c bcmr -n "__fish_bcmr_needs_command" -f -a "check" -d 'Compare files with their copies, on either side'
complete -c bcmr -n "__fish_bcmr_needs_command" -f -a "doctor" -d 'Say whether and how a server can be reached, and what it allows'
complete -c bcmr -n "__fish_bcmr_needs_command" -f -a "completions" -d 'Print a script that completes bcmr\'s command lines in a shell'
complete -c bcmr -n "__fish_bcmr_needs_command" -f -a "probe" -d 'Find out what compressing files is worth, and on which links'
complete -c bcmr -n "__fish_bcmr_needs_command" -f -a "serve" -d 'Start the server, bcmr-serve, which is a package of its own; what the public client asks a machine for'
complete -c bcmr -n "__fish_bcmr_needs_command" -f -a "move" -d 'Not there: says what to do instead'
complete -c bcmr -n "__fish_bcmr_needs_command" -f -a "remove" -d 'Not there: says what to do instead'
complete -c bcmr -n "__fish_bcmr_needs_command" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c bcmr -n "__fish_bcmr_using_subcommand copy" -s e -l exclude -d 'Leave out what has this in its path below the source; may be given several times' -r
complete -c bcmr -n "__fish_bcmr_using_subcommand copy" -l include -d 'Copy only files that have this in their path below the source; may be given several times' -r
complete -c bcmr -n "__fish_bcmr_using_subcommand copy" -l bandwidth-limit -d 'Move so much content a second at most, over all connections: 500KiB, 10MiB, 5MB' -r
complete -c bcmr -n "__fish_bcmr_using_subcommand copy" -l progress -d 'How progress is shown' -r -f -a "auto\t'A bar on a terminal that can show one, else nothing'
bar\t'A bar'
plain\t'A line every few seconds'
off\t'Nothing'"
complete -c bcmr -n "__fish_bcmr_using_subcommand copy" -l compress -d 'Compress blocks on the way, where that makes them smaller' -r -f -a "auto\t'Zstd, else LZ4, as the server can'
zstd\t'Zstd, or none'
lz4\t'LZ4, or none'
none\t'None'"
complete -c bcmr -n "__fish_bcmr_using_subcommand copy" -s P -l parallel -d 'Copy over this many connections at once [default: 1, or 2 for many files and much data]' -r
complete -c bcmr -n "__fish_bcmr_using_subcommand copy" -l ssh-config -d 'Use this OpenSSH configuration file instead of the user\'s' -r -F
complete -c bcmr -n "__fish_bcmr_using_subcommand copy" -l ssh-port -d 'Connect to this port; a port in scp://host:port/ comes first' -r
complete -c bcmr -n "__fish_bcmr_using_subcommand copy" -l ssh-identity -d 'Offer this key; may be given several times' -r -F
complete -c bcmr -n "__fish_bcmr_using_subcommand copy" -l ssh-jump -d 'Connect through this host, or these, separated by commas' -r
complete -c bcmr -n "__fish_bcmr_using_subcommand copy" -l ssh-cipher -d 'The cipher of ssh: AES-GCM where nothing else is configured and the processor has AES, or as ssh chooses' -r -f -a "auto\t'AES-GCM first, where the configuration leaves it to ssh and the processor has AES instructions'
keep\t'ssh, as it is configured'"
complete -c bcmr -n "__fish_bcmr_using_subcommand copy" -l via -d 'Talk to this local command instead of ssh; its paths are written \':path\'' -r
complete -c bcmr -n "__fish_bcmr_using_subcommand copy" -l retries -d 'When the link is lost, try this often to go on, after 1, 2, 4 and so on up to 60 seconds' -r
complete -c bcmr -n "__fish_bcmr_using_subcommand copy" -l stall -d 'Take the link for lost when no byte has moved for so many seconds; 0 for never' -r
complete -c bcmr -n "__fish_bcmr_using_subcommand copy" -l min-rate -d 'Take the link for lost when it moves content at less than this for 30 seconds: 10KiB, 1MiB' -r
complete -c bcmr -n "__fish_bcmr_using_subcommand copy" -l config -d 'Read defaults from this file instead of ~/.config/bcmr/config.toml' -r -F
complete -c bcmr -n "__fish_bcmr_using_subcommand copy" -l remote-command -d 'Start this on the remote machine instead of bcmr-serve' -r
complete -c bcmr -n "__fish_bcmr_using_subcommand copy" -s r -l recursive -d 'Copy directories with all they hold'
complete -c bcmr -n "__fish_bcmr_using_subcommand copy" -s f -l force -d 'Replace files that exist; asks first, unless -y is given'
complete -c bcmr -n "__fish_bcmr_using_subcommand copy" -s y -l yes -d 'Do not ask'
complete -c bcmr -n "__fish_bcmr_using_subcommand copy" -s p -l preserve -d 'Give downloads the times of modification of their sources; protocol 2 carries no more'
complete -c bcmr -n "__fish_bcmr_using_subcommand copy" -s C -l resume -d 'Find out first what is there: leave files of the same size and hash, and copy only the rest of one whose beginning is there, if -f allows replacing it'
complete -c bcmr -n "__fish_bcmr_using_subcommand copy" -s s -l strict -d 'With -C, hash a file as a whole when its rest was copied'
complete -c bcmr -n "__fish_bcmr_using_subcommand copy" -s V -l verify -d 'When everything is copied, read it again on both sides and compare the hashes'
complete -c bcmr -n "__fish_bcmr_using_subcommand copy" -l no-deref -d 'Leave out symbolic links, naming each, instead of following them; for uploads'
complete -c bcmr -n "__fish_bcmr_using_subcommand copy" -s n -l dry-run -d 'Say what would be copied, and change nothing'
complete -c bcmr -n "__fish_bcmr_using_subcommand copy" -s v -l verbose -d 'Name every file that was copied'
complete -c bcmr -n "__fish_bcmr_using_subcommand copy" -l json -d 'Print what happens as JSON, one object per line, and nothing else'
complete -c bcmr -n "__fish_bcmr_using_subcommand copy" -l no-fallback -d 'Where no bcmr server is found, end, instead of copying with scp'
complete -c bcmr -n "__fish_bcmr_using_subcommand copy" -s q -l quiet -d 'Show no progress and no summary, only errors'
complete -c bcmr -n "__fish_bcmr_using_subcommand copy" -l fast -d 'Let the server send without computing a hash; downloads are then not checked against one'
complete -c bcmr -n "__fish_bcmr_using_subcommand copy" -l sync -d 'Have every file flushed to disk before it counts as copied'
complete -c bcmr -n "__fish_bcmr_using_subcommand copy" -l no-retry -d 'When the link is lost, end'
complete -c bcmr -n "__fish_bcmr_using_subcommand copy" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c bcmr -n "__fish_bcmr_using_subcommand ls" -l ssh-config -d 'Use this OpenSSH configuration file instead of the user\'s' -r -F
complete -c bcmr -n "__fish_bcmr_using_subcommand ls" -l ssh-port -d 'Connect to this port; a port in scp://host:port/ comes first' -r
complete -c bcmr -n "__fish_bcmr_using_subcommand ls" -l ssh-identity -d 'Offer this key; may be given several times' -r -F
complete -c bcmr -n "__fish_bcmr_using_subcommand ls" -l ssh-jump -d 'Connect through this host, or these, separated by commas' -r
complete -c bcmr -n "__fish_bcmr_using_subcommand ls" -l ssh-cipher -d 'The cipher of ssh: AES-GCM where nothing else is configured and the processor has AES, or as ssh chooses' -r -f -a "auto\t'AES-GCM first, where the configuration leaves it to ssh and the processor has AES instructions'
keep\t'ssh, as it is configured'"
complete -c bcmr -n "__fish_bcmr_using_subcommand ls" -l via -d 'Talk to this local command instead of ssh; its paths are written \':path\'' -r
complete -c bcmr -n "__fish_bcmr_using_subcommand ls" -l retries -d 'When the link is lost, try this often to go on, after 1, 2, 4 and so on up to 60 seconds' -r
complete -c bcmr -n "__fish_bcmr_using_subcommand ls" -l stall -d 'Take the link for lost when no byte has moved for so many seconds; 0 for never' -r
complete -c bcmr -n "__fish_bcmr_using_subcommand ls" -l min-rate -d 'Take the link for lost when it moves content at less than this for 30 seconds: 10KiB, 1MiB' -r
complete -c bcmr -n "__fish_bcmr_using_subcommand ls" -l config -d 'Read defaults from this file instead of ~/.config/bcmr/config.toml' -r -F
complete -c bcmr -n "__fish_bcmr_using_subcommand ls" -l remote-command -d 'Start this on the remote machine instead of bcmr-serve' -r
complete -c bcmr -n "__fish_bcmr_using_subcommand ls" -l json -d 'Print JSON, one object per line'
complete -c bcmr -n "__fish_bcmr_using_subcommand ls" -s r -l recursive -d 'List what is in the directories below as well'
complete -c bcmr -n "__fish_bcmr_using_subcommand ls" -l no-retry -d 'When the link is lost, end'
complete -c bcmr -n "__fish_bcmr_using_subcommand ls" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c bcmr -n "__fish_bcmr_using_subcommand stat" -l ssh-config -d 'Use this OpenSSH configuration file instead of the user\'s' -r -F
complete -c bcmr -n "__fish_bcmr_using_subcommand stat" -l ssh-port -d 'Connect to this port; a port in scp://host:port/ comes first' -r
complete -c bcmr -n "__fish_bcmr_using_subcommand stat" -l ssh-identity -d 'Offer this key; may be given several times' -r -F
complete -c bcmr -n "__fish_bcmr_using_subcommand stat" -l ssh-jump -d 'Connect through this host, or these, separated by commas' -r
complete -c bcmr -n "__fish_bcmr_using_subcommand stat" -l ssh-cipher -d 'The cipher of ssh: AES-GCM where nothing else is configured and the processor has AES, or as ssh chooses' -r -f -a "auto\t'AES-GCM first, where the configuration leaves it to ssh and the processor has AES instructions'
keep\t'ssh, as it is configured'"
complete -c bcmr -n "__fish_bcmr_using_subcommand stat" -l via -d 'Talk to this local command instead of ssh; its paths are written \':path\'' -r
complete -c bcmr -n "__fish_bcmr_using_subcommand stat" -l retries -d 'When the link is lost, try this often to go on, after 1, 2, 4 and so on up to 60 seconds' -r
complete -c bcmr -n "__fish_bcmr_using_subcommand stat" -l stall -d 'Take the link for lost when no byte has moved for so many seconds; 0 for never' -r
complete -c bcmr -n "__fish_bcmr_using_subcommand stat" -l min-rate -d 'Take the link for lost when it moves content at less than this for 30 seconds: 10KiB, 1MiB' -r
complete -c bcmr -n "__fish_bcmr_using_subcommand stat" -l config -d 'Read defaults from this file instead of ~/.config/bcmr/config.toml' -r -F
complete -c bcmr -n "__fish_bcmr_using_subcommand stat" -l remote-command -d 'Start this on the remote machine instead of bcmr-serve' -r
complete -c bcmr -n "__fish_bcmr_using_subcommand stat" -l json -d 'Print JSON, one object per line'
complete -c bcmr -n "__fish_bcmr_using_subcommand stat" -l no-retry -d 'When the link is lost, end'
complete -c bcmr -n "__fish_bcmr_using_subcommand stat" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c bcmr -n "__fish_bcmr_using_subcommand du" -l ssh-config -d 'Use this OpenSSH configuration file instead of the user\'s' -r -F
complete -c bcmr -n "__fish_bcmr_using_subcommand du" -l ssh-port -d 'Connect to this port; a port in scp://host:port/ comes first' -r
complete -c bcmr -n "__fish_bcmr_using_subcommand du" -l ssh-identity -d 'Offer this key; may be given several times' -r -F
complete -c bcmr -n "__fish_bcmr_using_subcommand du" -l ssh-jump -d 'Connect through this host, or these, separated by commas' -r
complete -c bcmr -n "__fish_bcmr_using_subcommand du" -l ssh-cipher -d 'The cipher of ssh: AES-GCM where nothing else is configured and the processor has AES, or as ssh chooses' -r -f -a "auto\t'AES-GCM first, where the configuration leaves it to ssh and the processor has AES instructions'
keep\t'ssh, as it is configured'"
complete -c bcmr -n "__fish_bcmr_using_subcommand du" -l via -d 'Talk to this local command instead of ssh; its paths are written \':path\'' -r
complete -c bcmr -n "__fish_bcmr_using_subcommand du" -l retries -d 'When the link is lost, try this often to go on, after 1, 2, 4 and so on up to 60 seconds' -r
complete -c bcmr -n "__fish_bcmr_using_subcommand du" -l stall -d 'Take the link for lost when no byte has moved for so many seconds; 0 for never' -r
complete -c bcmr -n "__fish_bcmr_using_subcommand du" -l min-rate -d 'Take the link for lost when it moves content at less than this for 30 seconds: 10KiB, 1MiB' -r
complete -c bcmr -n "__fish_bcmr_using_subcommand du" -l config -d 'Read defaults from this file instead of ~/.config/bcmr/config.toml' -r -F
complete -c bcmr -n "__fish_bcmr_using_subcommand du" -l remote-command -d 'Start this on the remote machine instead of bcmr-serve' -r
complete -c bcmr -n "__fish_bcmr_using_subcommand du" -l json -d 'Print JSON, one object per line'
complete -c bcmr -n "__fish_bcmr_using_subcommand du" -l no-retry -d 'When the link is lost, end'
complete -c bcmr -n "__fish_bcmr_using_subcommand du" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c bcmr -n "__fish_bcmr_using_subcommand hash" -l ssh-config -d 'Use this OpenSSH configuration file instead of the user\'s' -r -F
complete -c bcmr -n "__fish_bcmr_using_subcommand hash" -l ssh-port -d 'Connect to this port; a port in scp://host:port/ comes first' -r
complete -c bcmr -n "__fish_bcmr_using_subcommand hash" -l ssh-identity -d 'Offer this key; may be given several times' -r -F
complete -c bcmr -n "__fish_bcmr_using_subcommand hash" -l ssh-jump -d 'Connect through this host, or these, separated by commas' -r
complete -c bcmr -n "__fish_bcmr_using_subcommand hash" -l ssh-cipher -d 'The cipher of ssh: AES-GCM where nothing else is configured and the processor has AES, or as ssh chooses' -r -f -a "auto\t'AES-GCM first, where the configuration leaves it to ssh and the processor has AES instructions'
keep\t'ssh, as it is configured'"
complete -c bcmr -n "__fish_bcmr_using_subcommand hash" -l via -d 'Talk to this local command instead of ssh; its paths are written \':path\'' -r
complete -c bcmr -n "__fish_bcmr_using_subcommand hash" -l retries -d 'When the link is lost, try this often to go on, after 1, 2, 4 and so on up to 60 seconds' -r
complete -c bcmr -n "__fish_bcmr_using_subcommand hash" -l stall -d 'Take the link for lost when no byte has moved for so many seconds; 0 for never' -r
complete -c bcmr -n "__fish_bcmr_using_subcommand hash" -l min-rate -d 'Take the link for lost when it moves content at less than this for 30 seconds: 10KiB, 1MiB' -r
complete -c bcmr -n "__fish_bcmr_using_subcommand hash" -l config -d 'Read defaults from this file instead of ~/.config/bcmr/config.toml' -r -F
complete -c bcmr -n "__fish_bcmr_using_subcommand hash" -l remote-command -d 'Start this on the remote machine instead of bcmr-serve' -r
complete -c bcmr -n "__fish_bcmr_using_subcommand hash" -l json -d 'Print JSON, one object per line'
complete -c bcmr -n "__fish_bcmr_using_subcommand hash" -l no-retry -d 'When the link is lost, end'
complete -c bcmr -n "__fish_bcmr_using_subcommand hash" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c bcmr -n "__fish_bcmr_using_subcommand mkdir" -l ssh-config -d 'Use this OpenSSH configuration file instead of the user\'s' -r -F
complete -c bcmr -n "__fish_bcmr_using_subcommand mkdir" -l ssh-port -d 'Connect to this port; a port in scp://host:port/ comes first' -r
complete -c bcmr -n "__fish_bcmr_using_subcommand mkdir" -l ssh-identity -d 'Offer this key; may be given several times' -r -F
complete -c bcmr -n "__fish_bcmr_using_subcommand mkdir" -l ssh-jump -d 'Connect through this host, or these, separated by commas' -r
complete -c bcmr -n "__fish_bcmr_using_subcommand mkdir" -l ssh-cipher -d 'The cipher of ssh: AES-GCM where nothing else is configured and the processor has AES, or as ssh chooses' -r -f -a "auto\t'AES-GCM first, where the configuration leaves it to ssh and the processor has AES instructions'
keep\t'ssh, as it is configured'"
complete -c bcmr -n "__fish_bcmr_using_subcommand mkdir" -l via -d 'Talk to this local command instead of ssh; its paths are written \':path\'' -r
complete -c bcmr -n "__fish_bcmr_using_subcommand mkdir" -l retries -d 'When the link is lost, try this often to go on, after 1, 2, 4 and so on up to 60 seconds' -r
complete -c bcmr -n "__fish_bcmr_using_subcommand mkdir" -l stall -d 'Take the link for lost when no byte has moved for so many seconds; 0 for never' -r
complete -c bcmr -n "__fish_bcmr_using_subcommand mkdir" -l min-rate -d 'Take the link for lost when it moves content at less than this for 30 seconds: 10KiB, 1MiB' -r
complete -c bcmr -n "__fish_bcmr_using_subcommand mkdir" -l config -d 'Read defaults from this file instead of ~/.config/bcmr/config.toml' -r -F
complete -c bcmr -n "__fish_bcmr_using_subcommand mkdir" -l remote-command -d 'Start this on the remote machine instead of bcmr-serve' -r
complete -c bcmr -n "__fish_bcmr_using_subcommand mkdir" -l json -d 'Print JSON, one object per line'
complete -c bcmr -n "__fish_bcmr_using_subcommand mkdir" -l no-retry -d 'When the link is lost, end'
complete -c bcmr -n "__fish_bcmr_using_subcommand mkdir" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c bcmr -n "__fish_bcmr_using_subcommand check" -l ssh-config -d 'Use this OpenSSH configuration file instead of the user\'s' -r -F
complete -c bcmr -n "__fish_bcmr_using_subcommand check" -l ssh-port -d 'Connect to this port; a port in scp://host:port/ comes first' -r
complete -c bcmr -n "__fish_bcmr_using_subcommand check" -l ssh-identity -d 'Offer this key; may be given several times' -r -F
complete -c bcmr -n "__fish_bcmr_using_subcommand check" -l ssh-jump -d 'Connect through this host, or these, separated by commas' -r
complete -c bcmr -n "__fish_bcmr_using_subcommand check" -l ssh-cipher -d 'The cipher of ssh: AES-GCM where nothing else is configured and the processor has AES, or as ssh chooses' -r -f -a "auto\t'AES-GCM first, where the configuration leaves it to ssh and the processor has AES instructions'
keep\t'ssh, as it is configured'"
complete -c bcmr -n "__fish_bcmr_using_subcommand check" -l via -d 'Talk to this local command instead of ssh; its paths are written \':path\'' -r
complete -c bcmr -n "__fish_bcmr_using_subcommand check" -l retries -d 'When the link is lost, try this often to go on, after 1, 2, 4 and so on up to 60 seconds' -r
complete -c bcmr -n "__fish_bcmr_using_subcommand check" -l stall -d 'Take the link for lost when no byte has moved for so many seconds; 0 for never' -r
complete -c bcmr -n "__fish_bcmr_using_subcommand check" -l min-rate -d 'Take the link for lost when it moves content at less than this for 30 seconds: 10KiB, 1MiB' -r
complete -c bcmr -n "__fish_bcmr_using_subcommand check" -l config -d 'Read defaults from this file instead of ~/.config/bcmr/config.toml' -r -F
complete -c bcmr -n "__fish_bcmr_using_subcommand check" -l remote-command -d 'Start this on the remote machine instead of bcmr-serve' -r
complete -c bcmr -n "__fish_bcmr_using_subcommand check" -s r -l recursive -d 'Compare directories with all they hold'
complete -c bcmr -n "__fish_bcmr_using_subcommand check" -s s -l strict -d 'Compare the content by BLAKE3, not sizes and times'
complete -c bcmr -n "__fish_bcmr_using_subcommand check" -l no-retry -d 'When the link is lost, end'
complete -c bcmr -n "__fish_bcmr_using_subcommand check" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c bcmr -n "__fish_bcmr_using_subcommand doctor" -l ssh-config -d 'Use this OpenSSH configuration file instead of the user\'s' -r -F
complete -c bcmr -n "__fish_bcmr_using_subcommand doctor" -l ssh-port -d 'Connect to this port; a port in scp://host:port/ comes first' -r
complete -c bcmr -n "__fish_bcmr_using_subcommand doctor" -l ssh-identity -d 'Offer this key; may be given several times' -r -F
complete -c bcmr -n "__fish_bcmr_using_subcommand doctor" -l ssh-jump -d 'Connect through this host, or these, separated by commas' -r
complete -c bcmr -n "__fish_bcmr_using_subcommand doctor" -l ssh-cipher -d 'The cipher of ssh: AES-GCM where nothing else is configured and the processor has AES, or as ssh chooses' -r -f -a "auto\t'AES-GCM first, where the configuration leaves it to ssh and the processor has AES instructions'
keep\t'ssh, as it is configured'"
complete -c bcmr -n "__fish_bcmr_using_subcommand doctor" -l via -d 'Talk to this local command instead of ssh; its paths are written \':path\'' -r
complete -c bcmr -n "__fish_bcmr_using_subcommand doctor" -l retries -d 'When the link is lost, try this often to go on, after 1, 2, 4 and so on up to 60 seconds' -r
complete -c bcmr -n "__fish_bcmr_using_subcommand doctor" -l stall -d 'Take the link for lost when no byte has moved for so many seconds; 0 for never' -r
complete -c bcmr -n "__fish_bcmr_using_subcommand doctor" -l min-rate -d 'Take the link for lost when it moves content at less than this for 30 seconds: 10KiB, 1MiB' -r
complete -c bcmr -n "__fish_bcmr_using_subcommand doctor" -l config -d 'Read defaults from this file instead of ~/.config/bcmr/config.toml' -r -F
complete -c bcmr -n "__fish_bcmr_using_subcommand doctor" -l remote-command -d 'Start this on the remote machine instead of bcmr-serve' -r
complete -c bcmr -n "__fish_bcmr_using_subcommand doctor" -l no-retry -d 'When the link is lost, end'
complete -c bcmr -n "__fish_bcmr_using_subcommand doctor" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c bcmr -n "__fish_bcmr_using_subcommand completions" -l ssh-config -d 'Use this OpenSSH configuration file instead of the user\'s' -r -F
complete -c bcmr -n "__fish_bcmr_using_subcommand completions" -l ssh-port -d 'Connect to this port; a port in scp://host:port/ comes first' -r
complete -c bcmr -n "__fish_bcmr_using_subcommand completions" -l ssh-identity -d 'Offer this key; may be given several times' -r -F
complete -c bcmr -n "__fish_bcmr_using_subcommand completions" -l ssh-jump -d 'Connect through this host, or these, separated by commas' -r
complete -c bcmr -n "__fish_bcmr_using_subcommand completions" -l ssh-cipher -d 'The cipher of ssh: AES-GCM where nothing else is configured and the processor has AES, or as ssh chooses' -r -f -a "auto\t'AES-GCM first, where the configuration leaves it to ssh and the processor has AES instructions'
keep\t'ssh, as it is configured'"
complete -c bcmr -n "__fish_bcmr_using_subcommand completions" -l via -d 'Talk to this local command instead of ssh; its paths are written \':path\'' -r
complete -c bcmr -n "__fish_bcmr_using_subcommand completions" -l retries -d 'When the link is lost, try this often to go on, after 1, 2, 4 and so on up to 60 seconds' -r
complete -c bcmr -n "__fish_bcmr_using_subcommand completions" -l stall -d 'Take the link for lost when no byte has moved for so many seconds; 0 for never' -r
complete -c bcmr -n "__fish_bcmr_using_subcommand completions" -l min-rate -d 'Take the link for lost when it moves content at less than this for 30 seconds: 10KiB, 1MiB' -r
complete -c bcmr -n "__fish_bcmr_using_subcommand completions" -l config -d 'Read defaults from this file instead of ~/.config/bcmr/config.toml' -r -F
complete -c bcmr -n "__fish_bcmr_using_subcommand completions" -l remote-command -d 'Start this on the remote machine instead of bcmr-serve' -r
complete -c bcmr -n "__fish_bcmr_using_subcommand completions" -l no-retry -d 'When the link is lost, end'
complete -c bcmr -n "__fish_bcmr_using_subcommand completions" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c bcmr -n "__fish_bcmr_using_subcommand probe" -l ssh-config -d 'Use this OpenSSH configuration file instead of the user\'s' -r -F
complete -c bcmr -n "__fish_bcmr_using_subcommand probe" -l ssh-port -d 'Connect to this port; a port in scp://host:port/ comes first' -r
complete -c bcmr -n "__fish_bcmr_using_subcommand probe" -l ssh-identity -d 'Offer this key; may be given several times' -r -F
complete -c bcmr -n "__fish_bcmr_using_subcommand probe" -l ssh-jump -d 'Connect through this host, or these, separated by commas' -r
complete -c bcmr -n "__fish_bcmr_using_subcommand probe" -l ssh-cipher -d 'The cipher of ssh: AES-GCM where nothing else is configured and the processor has AES, or as ssh chooses' -r -f -a "auto\t'AES-GCM first, where the configuration leaves it to ssh and the processor has AES instructions'
keep\t'ssh, as it is configured'"
complete -c bcmr -n "__fish_bcmr_using_subcommand probe" -l via -d 'Talk to this local command instead of ssh; its paths are written \':path\'' -r
complete -c bcmr -n "__fish_bcmr_using_subcommand probe" -l retries -d 'When the link is lost, try this often to go on, after 1, 2, 4 and so on up to 60 seconds' -r
complete -c bcmr -n "__fish_bcmr_using_subcommand probe" -l stall -d 'Take the link for lost when no byte has moved for so many seconds; 0 for never' -r
complete -c bcmr -n "__fish_bcmr_using_subcommand probe" -l min-rate -d 'Take the link for lost when it moves content at less than this for 30 seconds: 10KiB, 1MiB' -r
complete -c bcmr -n "__fish_bcmr_using_subcommand probe" -l config -d 'Read defaults from this file instead of ~/.config/bcmr/config.toml' -r -F
complete -c bcmr -n "__fish_bcmr_using_subcommand probe" -l remote-command -d 'Start this on the remote machine instead of bcmr-serve' -r
complete -c bcmr -n "__fish_bcmr_using_subcommand probe" -l no-retry -d 'When the link is lost, end'
complete -c bcmr -n "__fish_bcmr_using_subcommand probe" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c bcmr -n "__fish_bcmr_using_subcommand serve" -l ssh-config -d 'Use this OpenSSH configuration file instead of the user\'s' -r -F
complete -c bcmr -n "__fish_bcmr_using_subcommand serve" -l ssh-port -d 'Connect to this port; a port in scp://host:port/ comes first' -r
complete -c bcmr -n "__fish_bcmr_using_subcommand serve" -l ssh-identity -d 'Offer this key; may be given several times' -r -F
complete -c bcmr -n "__fish_bcmr_using_subcommand serve" -l ssh-jump -d 'Connect through this host, or these, separated by commas' -r
complete -c bcmr -n "__fish_bcmr_using_subcommand serve" -l ssh-cipher -d 'The cipher of ssh: AES-GCM where nothing else is configured and the processor has AES, or as ssh chooses' -r -f -a "auto\t'AES-GCM first, where the configuration leaves it to ssh and the processor has AES instructions'
keep\t'ssh, as it is configured'"
complete -c bcmr -n "__fish_bcmr_using_subcommand serve" -l via -d 'Talk to this local command instead of ssh; its paths are written \':path\'' -r
complete -c bcmr -n "__fish_bcmr_using_subcommand serve" -l retries -d 'When the link is lost, try this often to go on, after 1, 2, 4 and so on up to 60 seconds' -r
complete -c bcmr -n "__fish_bcmr_using_subcommand serve" -l stall -d 'Take the link for lost when no byte has moved for so many seconds; 0 for never' -r
complete -c bcmr -n "__fish_bcmr_using_subcommand serve" -l min-rate -d 'Take the link for lost when it moves content at less than this for 30 seconds: 10KiB, 1MiB' -r
complete -c bcmr -n "__fish_bcmr_using_subcommand serve" -l config -d 'Read defaults from this file instead of ~/.config/bcmr/config.toml' -r -F
complete -c bcmr -n "__fish_bcmr_using_subcommand serve" -l remote-command -d 'Start this on the remote machine instead of bcmr-serve' -r
complete -c bcmr -n "__fish_bcmr_using_subcommand serve" -l no-retry -d 'When the link is lost, end'
complete -c bcmr -n "__fish_bcmr_using_subcommand move" -l ssh-config -d 'Use this OpenSSH configuration file instead of the user\'s' -r -F
complete -c bcmr -n "__fish_bcmr_using_subcommand move" -l ssh-port -d 'Connect to this port; a port in scp://host:port/ comes first' -r
complete -c bcmr -n "__fish_bcmr_using_subcommand move" -l ssh-identity -d 'Offer this key; may be given several times' -r -F
complete -c bcmr -n "__fish_bcmr_using_subcommand move" -l ssh-jump -d 'Connect through this host, or these, separated by commas' -r
complete -c bcmr -n "__fish_bcmr_using_subcommand move" -l ssh-cipher -d 'The cipher of ssh: AES-GCM where nothing else is configured and the processor has AES, or as ssh chooses' -r -f -a "auto\t'AES-GCM first, where the configuration leaves it to ssh and the processor has AES instructions'
keep\t'ssh, as it is configured'"
complete -c bcmr -n "__fish_bcmr_using_subcommand move" -l via -d 'Talk to this local command instead of ssh; its paths are written \':path\'' -r
complete -c bcmr -n "__fish_bcmr_using_subcommand move" -l retries -d 'When the link is lost, try this often to go on, after 1, 2, 4 and so on up to 60 seconds' -r
complete -c bcmr -n "__fish_bcmr_using_subcommand move" -l stall -d 'Take the link for lost when no byte has moved for so many seconds; 0 for never' -r
complete -c bcmr -n "__fish_bcmr_using_subcommand move" -l min-rate -d 'Take the link for lost when it moves content at less than this for 30 seconds: 10KiB, 1MiB' -r
complete -c bcmr -n "__fish_bcmr_using_subcommand move" -l config -d 'Read defaults from this file instead of ~/.config/bcmr/config.toml' -r -F
complete -c bcmr -n "__fish_bcmr_using_subcommand move" -l remote-command -d 'Start this on the remote machine instead of bcmr-serve' -r
complete -c bcmr -n "__fish_bcmr_using_subcommand move" -l no-retry -d 'When the link is lost, end'
complete -c bcmr -n "__fish_bcmr_using_subcommand move" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c bcmr -n "__fish_bcmr_using_subcommand remove" -l ssh-config -d 'Use this OpenSSH configuration file instead of the user\'s' -r -F
complete -c bcmr -n "__fish_bcmr_using_subcommand remove" -l ssh-port -d 'Connect to this port; a port in scp://host:port/ comes first' -r
complete -c bcmr -n "__fish_bcmr_using_subcommand remove" -l ssh-identity -d 'Offer this key; may be given several times' -r -F
complete -c bcmr -n "__fish_bcmr_using_subcommand remove" -l ssh-jump -d 'Connect through this host, or these, separated by commas' -r
complete -c bcmr -n "__fish_bcmr_using_subcommand remove" -l ssh-cipher -d 'The cipher of ssh: AES-GCM where nothing else is configured and the processor has AES, or as ssh chooses' -r -f -a "auto\t'AES-GCM first, where the configuration leaves it to ssh and the processor has AES instructions'
keep\t'ssh, as it is configured'"
complete -c bcmr -n "__fish_bcmr_using_subcommand remove" -l via -d 'Talk to this local command instead of ssh; its paths are written \':path\'' -r
complete -c bcmr -n "__fish_bcmr_using_subcommand remove" -l retries -d 'When the link is lost, try this often to go on, after 1, 2, 4 and so on up to 60 seconds' -r
complete -c bcmr -n "__fish_bcmr_using_subcommand remove" -l stall -d 'Take the link for lost when no byte has moved for so many seconds; 0 for never' -r
complete -c bcmr -n "__fish_bcmr_using_subcommand remove" -l min-rate -d 'Take the link for lost when it moves content at less than this for 30 seconds: 10KiB, 1MiB' -r
complete -c bcmr -n "__fish_bcmr_using_subcommand remove" -l config -d 'Read defaults from this file instead of ~/.config/bcmr/config.toml' -r -F
complete -c bcmr -n "__fish_bcmr_using_subcommand remove" -l remote-command -d 'Start this on the remote machine instead of bcmr-serve' -r
complete -c bcmr -n "__fish_bcmr_using_subcommand remove" -l no-retry -d 'When the link is lost, end'
complete -c bcmr -n "__fish_bcmr_using_subcommand remove" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c bcmr -n "__fish_bcmr_using_subcommand help; and not __fish_seen_subcommand_from copy ls stat du hash mkdir check doctor completions probe serve move remove help" -f -a "copy" -d 'Copy files or directories to or from a server'
complete -c bcmr -n "__fish_bcmr_using_subcommand help; and not __fish_seen_subcommand_from copy ls stat du hash mkdir check doctor completions probe serve move remove help" -f -a "ls" -d 'List what is in directories on a server'
complete -c bcmr -n "__fish_bcmr_using_subcommand help; and not __fish_seen_subcommand_from copy ls stat du hash mkdir check doctor completions probe serve move remove help" -f -a "stat" -d 'Say what stands at paths on a server'
complete -c bcmr -n "__fish_bcmr_using_subcommand help; and not __fish_seen_subcommand_from copy ls stat du hash mkdir check doctor completions probe serve move remove help" -f -a "du" -d 'Sum up the sizes of files on a server'
complete -c bcmr -n "__fish_bcmr_using_subcommand help; and not __fish_seen_subcommand_from copy ls stat du hash mkdir check doctor completions probe serve move remove help" -f -a "hash" -d 'Print the BLAKE3 hashes of files on a server'
complete -c bcmr -n "__fish_bcmr_using_subcommand help; and not __fish_seen_subcommand_from copy ls stat du hash mkdir check doctor completions probe serve move remove help" -f -a "mkdir" -d 'Make directories on a server, with their parents'
complete -c bcmr -n "__fish_bcmr_using_subcommand help; and not __fish_seen_subcommand_from copy ls stat du hash mkdir check doctor completions probe serve move remove help" -f -a "check" -d 'Compare files with their copies, on either side'
complete -c bcmr -n "__fish_bcmr_using_subcommand help; and not __fish_seen_subcommand_from copy ls stat du hash mkdir check doctor completions probe serve move remove help" -f -a "doctor" -d 'Say whether and how a server can be reached, and what it allows'
complete -c bcmr -n "__fish_bcmr_using_subcommand help; and not __fish_seen_subcommand_from copy ls stat du hash mkdir check doctor completions probe serve move remove help" -f -a "completions" -d 'Print a script that completes bcmr\'s command lines in a shell'
complete -c bcmr -n "__fish_bcmr_using_subcommand help; and not __fish_seen_subcommand_from copy ls stat du hash mkdir check doctor completions probe serve move remove help" -f -a "probe" -d 'Find out what compressing files is worth, and on which links'
complete -c bcmr -n "__fish_bcmr_using_subcommand help; and not __fish_seen_subcommand_from copy ls stat du hash mkdir check doctor completions probe serve move remove help" -f -a "serve" -d 'Start the server, bcmr-serve, which is a package of its own; what the public client asks a machine for'
complete -c bcmr -n "__fish_bcmr_using_subcommand help; and not __fish_seen_subcommand_from copy ls stat du hash mkdir check doctor completions probe serve move remove help" -f -a "move" -d 'Not there: says what to do instead'
complete -c bcmr -n "__fish_bcmr_using_subcommand help; and not __fish_seen_subcommand_from copy ls stat du hash mkdir check doctor completions probe serve move remove help" -f -a "remove" -d 'Not there: says what to do instead'
complete -c bcmr -n "__fish_bcmr_using_subcommand help; and not __fish_seen_subcommand_from copy ls stat du hash mkdir check doctor completions probe serve move remove help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
