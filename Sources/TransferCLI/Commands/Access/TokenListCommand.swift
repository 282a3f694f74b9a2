private import TransferAccess
private import TransferModel

/// `transfer access token list`: prints tokens and pairing codes, without their secrets.
struct TokenListCommand {
    private let folder: AccessFolder
    private let isJSON: Bool

    init(_ arguments: ParsedArguments) throws(UsageError) {
        folder = AccessFlags.folder(arguments)
        isJSON = arguments[AccessFlags.json]
    }

    func run() -> ExitCode {
        AccessOutput.run { () throws(AccessFault) in
            let list = try folder.list(AccessFolder.tokensName, of: AccessToken.self)
            let now = UTCTime.now
            if isJSON {
                AccessOutput.print(
                    list.entries.map {
                        AccessOutput.json($0.kind == .pairing ? "pairing" : "token", $0.id, $0.name, $0.options)
                    })
            } else {
                AccessOutput.table(
                    list.entries.map {
                        [
                            $0.id, $0.kind == .pairing ? "pairing code" : "token", $0.name,
                            AccessOutput.bounds($0.options, at: now),
                        ]
                    })
            }
            return AccessOutput.report(list, AccessFolder.tokensName)
        }
    }
}

extension TokenListCommand: ProgramCommand {
    static let definition = Command(
        name: "access token list", summary: "List tokens and pairing codes.",
        description: ["Prints id, name and bounds of each; nobody can print its secret."],
        flags: [AccessFlags.directory.flag, AccessFlags.json.flag, .help],
        examples: [.init(caption: "List the tokens of a server", line: "transfer access token list --dir /srv/in")],
        outcomes: AccessFlags.listOutcomes)
}
