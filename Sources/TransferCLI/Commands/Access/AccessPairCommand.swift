private import TransferAccess
private import TransferKeys
private import TransferProtocol
private import TransferReceipts

/// `transfer access pair`: prints a line that lets one more client in.
struct AccessPairCommand {
    private let folder: AccessFolder
    private let options: AccessOptions
    private let drawsCode: Bool
    private let isJSON: Bool
    private let advertised: AdvertisedAddress?

    /// - Throws: `UsageError` for an address or bounds that cannot be.
    init(_ arguments: ParsedArguments) throws(UsageError) {
        guard arguments.operands.isEmpty else { throw arguments.error("it takes no operands") }
        folder = try arguments.accessFolder
        options = try arguments.accessOptions(at: .now)
        drawsCode = arguments.isSet("qr")
        isJSON = arguments.isSet("json")
        advertised = try AdvertisedAddress(arguments)
    }

    func run() -> ExitCode {
        AccessOutput.run { () throws(AccessFault) in
            guard let host = advertised?.host ?? HostAddress.best() else {
                throw AccessFault("This machine has no address that others could use; give one with --advertise.")
            }
            try folder.make()
            let server = try serverKey()
            let invitation = try Invitation(
                folder, host: host, port: advertised?.port ?? TransferLink.defaultPort,
                server: server, options: options, drawsCode: drawsCode, at: .now)
            guard !isJSON else {
                AccessOutput.print([invitation.json])
                return .success
            }
            if drawsCode, !invitation.hasCode {
                StandardStream.error.write("transfer: No QR code: libqrencode is not installed.\n")
            }
            StandardStream.error.write(
                "Run this on the other machine by \(invitation.expires), with any file; it works once:\n")
            invitation.print()
            return .success
        }
    }

    /// A server that has not been started yet will show that of its identity, unless it is given a certificate.
    private func serverKey() throws(AccessFault) -> KeyFingerprint {
        if let key = try folder.shownKey() { return key }
        do throws(KeyPair.Fault) {
            return KeyFingerprint(of: try ServerIdentity.open(in: folder.path).identity.key)
        } catch {
            throw AccessFault(error.message)
        }
    }
}
