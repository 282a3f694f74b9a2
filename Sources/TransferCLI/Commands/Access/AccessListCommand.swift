private import TransferAccess
private import TransferKeys
private import TransferModel

/// `transfer access list`: prints the keys that are let in.
struct AccessListCommand {
    private let folder: AccessFolder
    private let isJSON: Bool

    init(_ arguments: ParsedArguments) throws(UsageError) {
        folder = AccessFlags.folder(arguments)
        isJSON = arguments[AccessFlags.json]
    }

    func run() -> ExitCode {
        AccessOutput.run { () throws(AccessFault) in
            let list = try folder.list(AccessFolder.keysName, of: AuthorizedKey.self)
            let now = UTCTime.now
            if isJSON {
                AccessOutput.print(
                    list.entries.map { AccessOutput.json("key", $0.key.fingerprint, $0.name, $0.options) })
            } else {
                AccessOutput.table(
                    list.entries.map { [$0.name, $0.key.fingerprint, AccessOutput.bounds($0.options, at: now)] })
            }
            return AccessOutput.report(list, AccessFolder.keysName)
        }
    }
}

extension AccessListCommand: ProgramCommand {
    static let definition = Command(
        name: "access list", summary: "List who may push to a server's directory by a key.",
        description: ["Prints name, fingerprint and bounds of every key, and which lines cannot be read."],
        flags: [AccessFlags.directory.flag, AccessFlags.json.flag, .help],
        examples: [.init(caption: "List the keys of a server", line: "transfer access list --dir /srv/in")],
        outcomes: AccessFlags.listOutcomes)
}
