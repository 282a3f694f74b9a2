private import TransferAccess
private import TransferModel

/// `transfer access token list`: prints tokens, pairing codes and links for browsers, without their secrets.
struct TokenListCommand {
    private let place: AccessPlace
    private let isJSON: Bool

    init(_ arguments: ParsedArguments) throws(UsageError) {
        place = AccessPlace(arguments)
        isJSON = arguments[AccessFlags.json]
    }

    func run() -> ExitCode {
        AccessOutput.run { () throws(AccessFault) in
            let lists = try place.open()
            try lists.requireUsed()
            let list = lists.tokens
            let now = UTCTime.now
            // Sessions are left out, because `transfer access list` prints them.
            let entries = try list.get().entries.filter { $0.kind != .session }
            if isJSON {
                AccessOutput.print(entries.map { AccessOutput.json($0) })
            } else {
                AccessOutput.table(
                    entries.map { [$0.id, Self.title($0.kind), $0.name, AccessOutput.bounds($0.options, at: now)] })
            }
            return AccessOutput.report(list)
        }
    }
}

extension TokenListCommand: ProgramCommand {
    private static func title(_ kind: AccessSecret.Kind) -> String {
        switch kind {
        case .token: "token"
        case .pairing: "pairing code"
        case .web: "link for a browser"
        case .session: "session"
        }
    }

    static let definition = Command(
        name: "access token list", summary: "List tokens, pairing codes and links for browsers.",
        description: ["Prints ID, name and limits of each; their secrets cannot be shown again."],
        flags: AccessPlace.flags + [AccessFlags.json.flag, .insecurePermissions, .help],
        examples: [.init(caption: "List the tokens of a server", line: "transfer access token list --dir /srv/in")],
        outcomes: AccessFlags.listOutcomes)
}
