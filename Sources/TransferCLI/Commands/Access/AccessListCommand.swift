private import TransferAccess
private import TransferKeys
private import TransferModel

/// `transfer access list`: prints the keys and the browser sessions that the server admits.
struct AccessListCommand {
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
            let list = lists.keys
            let keys = try list.get().entries
            let sessions = try lists.tokens.get().entries.filter { $0.kind == .session }
            let now = UTCTime.now
            if isJSON {
                AccessOutput.print(
                    keys.map { AccessOutput.json("key", $0.key.fingerprint, $0.name, $0.options) }
                        + sessions.map { AccessOutput.json($0) })
            } else {
                AccessOutput.table(
                    keys.map { [$0.name, $0.key.fingerprint, AccessOutput.bounds($0.options, at: now)] }
                        + sessions.map { [$0.name, "session \($0.id)", Self.bounds($0, at: now)] })
            }
            return AccessOutput.report(list)
        }
    }
}

extension AccessListCommand: ProgramCommand {
    private static func bounds(_ session: AccessToken, at now: UTCTime) -> String {
        AccessOutput.bounds(session.options, at: now) + (session.made.map { ", made \($0)" } ?? "")
    }

    static let definition = Command(
        name: "access list", summary: "List authorised keys and browser sessions.",
        description: [
            "Prints name, fingerprint and limits of every key, and which lines cannot be read; then "
                + "name, ID, limits and start of every session."
        ],
        flags: AccessPlace.flags + [AccessFlags.json.flag, .insecurePermissions, .help],
        examples: [.init(caption: "List the keys of a server", line: "transfer access list --dir /srv/in")],
        outcomes: AccessFlags.listOutcomes)
}
