internal import TransferClient

/// The flags that all commands for stored files have, and what there is to say about all of them.
enum FilesFlags {
    static let aboutAccess =
        "The connection is protected as with 'transfer push', and this user may need a key or token that the server knows. "
        + "Paths are below the folder that the server gives this user, and below that of --from."

    static let from = ClientFlags.server(
        "from", help: "The server, and a folder there that paths are below.",
        details:
            "An IPv6 address stands in brackets. HOST:/FOLDER is the same as HOST/FOLDER. Or a remote, as 'transfer remote add' has named it: NAME or NAME:/FOLDER. Or discover:NAME, which 'transfer discover' finds. Or a link that the server's operator gave you, transfer://... between "
            + "single quotes.")

    static let quiet = Flag(name: "quiet", short: "q", help: "Say nothing that is no result and no error.").isOn

    /// - Parameter what: what has an object.
    static func json(_ what: String) -> FlagKey<Bool, Never> {
        Flag(name: "json", help: "Print one JSON object a line for every \(what).").isOn
    }

    static let failures = ExitCode.allCases.dropFirst().map {
        Command.Outcome($0, $0 == .uploadsFailed ? "something could not be done; what is said about it" : nil)
    }
}
