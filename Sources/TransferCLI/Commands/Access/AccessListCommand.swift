private import TransferAccess
private import TransferKeys
private import TransferModel

/// `transfer access list`: prints the keys that are let in.
struct AccessListCommand {
    private let folder: AccessFolder
    private let isJSON: Bool

    init(_ arguments: ParsedArguments) throws(UsageError) {
        folder = try arguments.accessFolder
        isJSON = arguments.isSet("json")
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
