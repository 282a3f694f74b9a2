internal import TransferClient

/// The flags and texts that all commands for stored files share.
enum FilesFlags {
    static let aboutAccess =
        "The connection is protected as with 'transfer push', and this user may need a key or token that "
        + "the server accepts. Paths are relative to the folder that the server assigns to this user, and "
        + "to that of --from."

    static let from = ClientFlags.server(
        "from", help: "The server, and the folder that paths are relative to.",
        details:
            "Write an IPv6 address in brackets. HOST:/FOLDER is the same as HOST/FOLDER. Also accepted: "
            + "a remote made with 'transfer remote add', NAME or NAME:/FOLDER; discover:NAME, a server "
            + "that 'transfer discover' finds; a link from the server's operator, transfer://..., in "
            + "single quotes.")

    static let quiet = Flag(name: "quiet", short: "q", help: "Print only errors and what was asked for.").isOn

    /// - Parameter what: the noun for the help, which says that one object is printed for each of them.
    static func json(_ what: String) -> FlagKey<Bool, Never> {
        Flag(name: "json", help: "Print one JSON object per line for every \(what).").isOn
    }

    static let failures = ExitCode.allCases.dropFirst().map {
        Command.Outcome($0, $0 == .uploadsFailed ? "something failed; a message says what" : nil)
    }
}
