# Print an optspec for argparse to handle cmd's options that are independent of any subcommand.
function __fish_bcmr_serve_global_optspecs
    string join \n profile= policy= label= root= h/help V/version
end

function __fish_bcmr_serve_needs_command
    # Figure out if the current invocation already has a command.
    set -l cmd (commandline -opc)
    set -e cmd[1]
    argparse -s (__fish_bcmr_serve_global_optspecs) -- $cmd 2>/dev/null
    or return
    if set -q argv[1]
        # Also print the command, so this can be used to figure out what it is.
        echo $argv[1]
        return 1
    end
    return 0
end

function __fish_bcmr_serve_using_subcommand
    set -l cmd (__fish_bcmr_serve_needs_command)
    test -z "$cmd"
    and return 1
    contains -- $cmd[1] $argv
end

complete -c bcmr-serve -n "__fish_bcmr_serve_needs_command" -l profile -d 'Serve under this profile of the policy; without it, serve the account\'s own files' -r
complete -c bcmr-serve -n "__fish_bcmr_serve_needs_command" -l policy -d 'Read the policy from this file, which root must own [default: /etc/bcmr/policy.toml]' -r -F
complete -c bcmr-serve -n "__fish_bcmr_serve_needs_command" -l label -d 'Record the session under this name, for telling keys apart; it grants nothing' -r
complete -c bcmr-serve -n "__fish_bcmr_serve_needs_command" -l root -d 'Serve the files under this directory [default: the home directory]; a profile has a root of its own' -r -F
complete -c bcmr-serve -n "__fish_bcmr_serve_needs_command" -s h -l help -d 'Print help'
complete -c bcmr-serve -n "__fish_bcmr_serve_needs_command" -s V -l version -d 'Print version'
complete -c bcmr-serve -n "__fish_bcmr_serve_needs_command" -f -a "serve" -d 'Serve protocol 2 on stdin and stdout; what is done without a command, too'
complete -c bcmr-serve -n "__fish_bcmr_serve_needs_command" -f -a "check" -d 'Check the policy file, and show what its profiles are for an account'
complete -c bcmr-serve -n "__fish_bcmr_serve_needs_command" -f -a "doctor" -d 'Tell whether this host can serve, and how well: exit code 0 fully, 1 with less, 2 not'
complete -c bcmr-serve -n "__fish_bcmr_serve_needs_command" -f -a "sessions" -d 'Show the sessions that live on this host'
complete -c bcmr-serve -n "__fish_bcmr_serve_needs_command" -f -a "provision" -d 'Make the state directories that an account\'s profiles name; only root may'
complete -c bcmr-serve -n "__fish_bcmr_serve_needs_command" -f -a "cas" -d 'Look at, check or empty the stores of an account\'s blocks'
complete -c bcmr-serve -n "__fish_bcmr_serve_needs_command" -f -a "quota" -d 'Show what an account published and still stands'
complete -c bcmr-serve -n "__fish_bcmr_serve_needs_command" -f -a "sweep" -d 'Clear away what killed sessions left below a directory'
complete -c bcmr-serve -n "__fish_bcmr_serve_needs_command" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c bcmr-serve -n "__fish_bcmr_serve_using_subcommand serve" -l profile -d 'Serve under this profile of the policy; without it, serve the account\'s own files' -r
complete -c bcmr-serve -n "__fish_bcmr_serve_using_subcommand serve" -l policy -d 'Read the policy from this file, which root must own [default: /etc/bcmr/policy.toml]' -r -F
complete -c bcmr-serve -n "__fish_bcmr_serve_using_subcommand serve" -l label -d 'Record the session under this name, for telling keys apart; it grants nothing' -r
complete -c bcmr-serve -n "__fish_bcmr_serve_using_subcommand serve" -l root -d 'Serve the files under this directory [default: the home directory]; a profile has a root of its own' -r -F
complete -c bcmr-serve -n "__fish_bcmr_serve_using_subcommand serve" -s h -l help -d 'Print help'
complete -c bcmr-serve -n "__fish_bcmr_serve_using_subcommand check" -l policy -d 'The policy file [default: /etc/bcmr/policy.toml]' -r -F
complete -c bcmr-serve -n "__fish_bcmr_serve_using_subcommand check" -l account -d 'The account [default: the one that asks]' -r
complete -c bcmr-serve -n "__fish_bcmr_serve_using_subcommand check" -s h -l help -d 'Print help'
complete -c bcmr-serve -n "__fish_bcmr_serve_using_subcommand doctor" -l account -d 'Look at what this account is served; only root may' -r
complete -c bcmr-serve -n "__fish_bcmr_serve_using_subcommand doctor" -l json -d 'Print JSON'
complete -c bcmr-serve -n "__fish_bcmr_serve_using_subcommand doctor" -s h -l help -d 'Print help'
complete -c bcmr-serve -n "__fish_bcmr_serve_using_subcommand sessions" -l json -d 'Print JSON'
complete -c bcmr-serve -n "__fish_bcmr_serve_using_subcommand sessions" -s h -l help -d 'Print help'
complete -c bcmr-serve -n "__fish_bcmr_serve_using_subcommand provision" -l account -d 'The account' -r
complete -c bcmr-serve -n "__fish_bcmr_serve_using_subcommand provision" -s h -l help -d 'Print help'
complete -c bcmr-serve -n "__fish_bcmr_serve_using_subcommand cas" -l account -d 'Act as this account; only root may' -r
complete -c bcmr-serve -n "__fish_bcmr_serve_using_subcommand cas" -l json -d 'Print JSON'
complete -c bcmr-serve -n "__fish_bcmr_serve_using_subcommand cas" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c bcmr-serve -n "__fish_bcmr_serve_using_subcommand quota" -l account -d 'Act as this account; only root may' -r
complete -c bcmr-serve -n "__fish_bcmr_serve_using_subcommand quota" -l json -d 'Print JSON'
complete -c bcmr-serve -n "__fish_bcmr_serve_using_subcommand quota" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c bcmr-serve -n "__fish_bcmr_serve_using_subcommand sweep" -l account -d 'Act as this account; only root may' -r
complete -c bcmr-serve -n "__fish_bcmr_serve_using_subcommand sweep" -s h -l help -d 'Print help'
complete -c bcmr-serve -n "__fish_bcmr_serve_using_subcommand help; and not __fish_seen_subcommand_from serve check doctor sessions provision cas quota sweep help" -f -a "serve" -d 'Serve protocol 2 on stdin and stdout; what is done without a command, too'
complete -c bcmr-serve -n "__fish_bcmr_serve_using_subcommand help; and not __fish_seen_subcommand_from serve check doctor sessions provision cas quota sweep help" -f -a "check" -d 'Check the policy file, and show what its profiles are for an account'
complete -c bcmr-serve -n "__fish_bcmr_serve_using_subcommand help; and not __fish_seen_subcommand_from serve check doctor sessions provision cas quota sweep help" -f -a "doctor" -d 'Tell whether this host can serve, and how well: exit code 0 fully, 1 with less, 2 not'
complete -c bcmr-serve -n "__fish_bcmr_serve_using_subcommand help; and not __fish_seen_subcommand_from serve check doctor sessions provision cas quota sweep help" -f -a "sessions" -d 'Show the sessions that live on this host'
complete -c bcmr-serve -n "__fish_bcmr_serve_using_subcommand help; and not __fish_seen_subcommand_from serve check doctor sessions provision cas quota sweep help" -f -a "provision" -d 'Make the state directories that an account\'s profiles name; only root may'
complete -c bcmr-serve -n "__fish_bcmr_serve_using_subcommand help; and not __fish_seen_subcommand_from serve check doctor sessions provision cas quota sweep help" -f -a "cas" -d 'Look at, check or empty the stores of an account\'s blocks'
complete -c bcmr-serve -n "__fish_bcmr_serve_using_subcommand help; and not __fish_seen_subcommand_from serve check doctor sessions provision cas quota sweep help" -f -a "quota" -d 'Show what an account published and still stands'
complete -c bcmr-serve -n "__fish_bcmr_serve_using_subcommand help; and not __fish_seen_subcommand_from serve check doctor sessions provision cas quota sweep help" -f -a "sweep" -d 'Clear away what killed sessions left below a directory'
complete -c bcmr-serve -n "__fish_bcmr_serve_using_subcommand help; and not __fish_seen_subcommand_from serve check doctor sessions provision cas quota sweep help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
