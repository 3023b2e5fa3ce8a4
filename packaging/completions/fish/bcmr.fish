# Print an optspec for argparse to handle cmd's options that are independent of any subcommand.
function __fish_bcmr_global_optspecs
    string join \n ssh-config= ssh-port= ssh-identity= ssh-jump= ssh-cipher= via= remote-command= h/help V/version
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
complete -c bcmr -n "__fish_bcmr_needs_command" -l remote-command -d 'Start this on the remote machine instead of bcmr-serve' -r
complete -c bcmr -n "__fish_bcmr_needs_command" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c bcmr -n "__fish_bcmr_needs_command" -s V -l version -d 'Print version'
complete -c bcmr -n "__fish_bcmr_needs_command" -f -a "copy" -d 'Copy files or directories to or from a server'
complete -c bcmr -n "__fish_bcmr_needs_command" -f -a "probe" -d 'Find out what compressing files is worth, and on which links'
complete -c bcmr -n "__fish_bcmr_needs_command" -f -a "serve" -d 'Start the server, bcmr-serve, which is a package of its own; what the public client asks a machine for'
complete -c bcmr -n "__fish_bcmr_needs_command" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
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
complete -c bcmr -n "__fish_bcmr_using_subcommand copy" -l remote-command -d 'Start this on the remote machine instead of bcmr-serve' -r
complete -c bcmr -n "__fish_bcmr_using_subcommand copy" -s r -l recursive -d 'Copy directories with all they hold'
complete -c bcmr -n "__fish_bcmr_using_subcommand copy" -s f -l force -d 'Replace files that exist; asks first, unless -y is given'
complete -c bcmr -n "__fish_bcmr_using_subcommand copy" -s y -l yes -d 'Do not ask'
complete -c bcmr -n "__fish_bcmr_using_subcommand copy" -s q -l quiet -d 'Show no progress and no summary, only errors'
complete -c bcmr -n "__fish_bcmr_using_subcommand copy" -l fast -d 'Let the server send without computing a hash; downloads are then not checked against one'
complete -c bcmr -n "__fish_bcmr_using_subcommand copy" -l sync -d 'Have every file flushed to disk before it counts as copied'
complete -c bcmr -n "__fish_bcmr_using_subcommand copy" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c bcmr -n "__fish_bcmr_using_subcommand probe" -l ssh-config -d 'Use this OpenSSH configuration file instead of the user\'s' -r -F
complete -c bcmr -n "__fish_bcmr_using_subcommand probe" -l ssh-port -d 'Connect to this port; a port in scp://host:port/ comes first' -r
complete -c bcmr -n "__fish_bcmr_using_subcommand probe" -l ssh-identity -d 'Offer this key; may be given several times' -r -F
complete -c bcmr -n "__fish_bcmr_using_subcommand probe" -l ssh-jump -d 'Connect through this host, or these, separated by commas' -r
complete -c bcmr -n "__fish_bcmr_using_subcommand probe" -l ssh-cipher -d 'The cipher of ssh: AES-GCM where nothing else is configured and the processor has AES, or as ssh chooses' -r -f -a "auto\t'AES-GCM first, where the configuration leaves it to ssh and the processor has AES instructions'
keep\t'ssh, as it is configured'"
complete -c bcmr -n "__fish_bcmr_using_subcommand probe" -l via -d 'Talk to this local command instead of ssh; its paths are written \':path\'' -r
complete -c bcmr -n "__fish_bcmr_using_subcommand probe" -l remote-command -d 'Start this on the remote machine instead of bcmr-serve' -r
complete -c bcmr -n "__fish_bcmr_using_subcommand probe" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c bcmr -n "__fish_bcmr_using_subcommand serve" -l ssh-config -d 'Use this OpenSSH configuration file instead of the user\'s' -r -F
complete -c bcmr -n "__fish_bcmr_using_subcommand serve" -l ssh-port -d 'Connect to this port; a port in scp://host:port/ comes first' -r
complete -c bcmr -n "__fish_bcmr_using_subcommand serve" -l ssh-identity -d 'Offer this key; may be given several times' -r -F
complete -c bcmr -n "__fish_bcmr_using_subcommand serve" -l ssh-jump -d 'Connect through this host, or these, separated by commas' -r
complete -c bcmr -n "__fish_bcmr_using_subcommand serve" -l ssh-cipher -d 'The cipher of ssh: AES-GCM where nothing else is configured and the processor has AES, or as ssh chooses' -r -f -a "auto\t'AES-GCM first, where the configuration leaves it to ssh and the processor has AES instructions'
keep\t'ssh, as it is configured'"
complete -c bcmr -n "__fish_bcmr_using_subcommand serve" -l via -d 'Talk to this local command instead of ssh; its paths are written \':path\'' -r
complete -c bcmr -n "__fish_bcmr_using_subcommand serve" -l remote-command -d 'Start this on the remote machine instead of bcmr-serve' -r
complete -c bcmr -n "__fish_bcmr_using_subcommand help; and not __fish_seen_subcommand_from copy probe serve help" -f -a "copy" -d 'Copy files or directories to or from a server'
complete -c bcmr -n "__fish_bcmr_using_subcommand help; and not __fish_seen_subcommand_from copy probe serve help" -f -a "probe" -d 'Find out what compressing files is worth, and on which links'
complete -c bcmr -n "__fish_bcmr_using_subcommand help; and not __fish_seen_subcommand_from copy probe serve help" -f -a "serve" -d 'Start the server, bcmr-serve, which is a package of its own; what the public client asks a machine for'
complete -c bcmr -n "__fish_bcmr_using_subcommand help; and not __fish_seen_subcommand_from copy probe serve help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
