private import TransferAccess
private import TransferKeys
private import TransferProtocol
private import TransferReceipts

/// `transfer access pair`: prints a line that lets one more client in.
struct AccessPairCommand {
    private let folder: AccessFolder
    private let options: AccessOptions
    private let drawsCode: Bool
    private let host: String?
    private let port: UInt16

    /// - Throws: `UsageError` for an address or bounds that cannot be.
    init(_ arguments: ParsedArguments) throws(UsageError) {
        guard arguments.operands.isEmpty else { throw arguments.error("it takes no operands") }
        folder = try arguments.accessFolder
        options = try arguments.accessOptions(at: .now)
        drawsCode = arguments.isSet("qr")
        guard let text = arguments.string("advertise") else {
            (host, port) = (nil, TransferLink.defaultPort)
            return
        }
        let address = try? TransferLink(TransferLink.scheme + text)
        guard let address, address.folder == nil, address.code == nil, address.fingerprint == nil else {
            throw arguments.error("'\(text.escapedForDisplay)' is no address that clients could use")
        }
        (host, port) = (address.host, address.port)
    }

    func run() -> ExitCode {
        AccessOutput.run { () throws(AccessFault) in
            guard let host = host ?? HostAddress.best() else {
                throw AccessFault("This machine has no address that others could use; give one with --advertise.")
            }
            try folder.make()
            let server = try identity()
            let invitation = try Invitation(
                folder, host: host, port: port, server: KeyFingerprint(of: server), options: options, at: .now)
            invitation.print(drawsCode: drawsCode)
            return .success
        }
    }

    private func identity() throws(AccessFault) -> PublicKey {
        do throws(KeyPair.Fault) {
            return try ServerIdentity.open(in: folder.path).identity.key
        } catch {
            throw AccessFault(error.message)
        }
    }
}
