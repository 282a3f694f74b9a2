private import TransferAccess
private import TransferKeys
private import TransferProtocol
private import TransferReceipts

/// `transfer access pair`: prints a line that lets one more client in.
struct AccessPairCommand {
    private let folder: AccessFolder
    private let options: AccessOptions
    private let drawsCode: Bool
    private let advertised: AdvertisedAddress?

    /// - Throws: `UsageError` for an address or bounds that cannot be.
    init(_ arguments: ParsedArguments) throws(UsageError) {
        guard arguments.operands.isEmpty else { throw arguments.error("it takes no operands") }
        folder = try arguments.accessFolder
        options = try arguments.accessOptions(at: .now)
        drawsCode = arguments.isSet("qr")
        advertised = try AdvertisedAddress(arguments)
    }

    func run() -> ExitCode {
        AccessOutput.run { () throws(AccessFault) in
            guard let host = advertised?.host ?? HostAddress.best() else {
                throw AccessFault("This machine has no address that others could use; give one with --advertise.")
            }
            try folder.make()
            let server = try identity()
            let invitation = try Invitation(
                folder, host: host, port: advertised?.port ?? TransferLink.defaultPort,
                server: KeyFingerprint(of: server), options: options, drawsCode: drawsCode, at: .now)
            if drawsCode, !invitation.hasCode {
                StandardStream.error.write("transfer: No QR code: libqrencode is not installed.\n")
            }
            StandardStream.error.write(
                "Run this on the other machine by \(invitation.expires), with any file; it works once:\n")
            invitation.print()
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
