private import TransferAccess

/// `transfer access token list`: prints tokens and pairing codes, without their secrets.
struct TokenListCommand {
    private let folder: AccessFolder

    init(_ arguments: ParsedArguments) throws(UsageError) {
        folder = try arguments.accessFolder
    }

    func run() -> ExitCode {
        AccessOutput.run { () throws(AccessFault) in
            let list = try folder.list(AccessFolder.tokensName, of: AccessToken.self)
            let now = UTCTime.now
            AccessOutput.table(
                list.entries.map {
                    [
                        $0.id, $0.kind == .pairing ? "pairing code" : "token", $0.name,
                        AccessOutput.bounds($0.options, at: now),
                    ]
                })
            return AccessOutput.report(list, AccessFolder.tokensName)
        }
    }
}
