private import TransferAccess
private import TransferModel

/// `transfer access token revoke`: revokes a token, a code or a link.
struct TokenRevokeCommand {
    private let place: AccessPlace
    private let wanted: String

    /// - Throws: `UsageError` unless there is one operand.
    init(_ arguments: ParsedArguments) throws(UsageError) {
        place = AccessPlace(arguments)
        wanted = try arguments.onlyOperand("one name or id")
    }

    func run() -> ExitCode {
        AccessOutput.run { () throws(AccessFault) in
            let lists = try place.open()
            try lists.requireUsed()
            let list = try lists.tokens.get()
            let found = list[wanted].map { [$0] } ?? list.entries.filter { $0.name == wanted }
            guard found.count <= 1 else {
                throw AccessFault(
                    "Several have that name; give an ID: \(found.map(\.id).joined(separator: ", "))")
            }
            guard let token = found.first, try !lists.revoke(where: { $0.id == token.id }).isEmpty else {
                throw AccessFault("There is no token '\(wanted.escapedForDisplay)' in the list.")
            }
            StandardStream.error.write("'\(token.name)' (\(token.id)) was revoked.\n")
            return .success
        }
    }
}

extension TokenRevokeCommand: ProgramCommand {
    static let definition = Command(
        name: "access token revoke", summary: "Revoke a token or a pairing code.", operands: "NAME|ID",
        description: ["If a client that uses it is connected, its next upload is refused."],
        flags: AccessPlace.flags + [.insecurePermissions, .help],
        examples: [.init(caption: "Revoke the token of a camera", line: "transfer access token revoke camera")],
        outcomes: AccessFlags.outcomes)
}
