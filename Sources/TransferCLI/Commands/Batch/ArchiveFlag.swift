internal import TransferClient

/// `--archive` of a push and of a pull.
enum ArchiveFlag {
    static let push = effect(
        "Send folders, links and all attributes, too.",
        details:
            "Folders, also empty ones, symbolic links as links, hard links, exact permissions, times of folders, extended "
            + "attributes of users, and owners where the server is root; another server keeps the right to read what it stores. A link that is named is sent itself; with a slash at "
            + "its end, the directory that it leads to. What the server has already gets its attributes as well.")

    static let pull = effect(
        "Fetch folders, links and all attributes, too.",
        details:
            "Folders, also empty ones, symbolic links as links, hard links, exact permissions, times of folders, extended "
            + "attributes of users, and owners where this user is root; another user keeps the right to read what is here. What is here already gets its attributes as well."
    )

    private static func effect(_ help: String, details: String) -> FlagEffect<ClientConfiguration> {
        Flag(name: "archive", short: "a", help: help, details: details).isOn.sets(\.archives)
    }
}
