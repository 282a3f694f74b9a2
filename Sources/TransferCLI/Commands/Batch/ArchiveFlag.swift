internal import TransferClient

/// The flags `--archive` of a push and of a pull.
enum ArchiveFlag {
    static let push = effect(
        "Also send folders, links and all attributes.",
        details:
            "Includes empty folders, symbolic links as links, hard links, exact permissions, times of "
            + "folders, user extended attributes, and owners if the server runs as root; any other server "
            + "keeps the right to read what it stores. A symbolic link given as PATH is sent as a link; "
            + "with a trailing slash, the directory that it points to is sent. Attributes of what the "
            + "server already has are updated, too.")

    static let pull = effect(
        "Also fetch folders, links and all attributes.",
        details:
            "Includes empty folders, symbolic links as links, hard links, exact permissions, times of "
            + "folders, user extended attributes, and owners if this user is root; any other user keeps "
            + "the right to read what is here. Attributes of what is already here are updated, too."
    )

    private static func effect(_ help: String, details: String) -> FlagEffect<ClientConfiguration> {
        Flag(name: "archive", short: "a", help: help, details: details).isOn.sets(\.archives)
    }
}
