private import TransferAccess
private import TransferKeys
private import TransferModel
private import TransferReceipts

/// `transfer access pair`: prints a line that lets one more client in.
struct AccessPairCommand {
    private let directory: String
    private let folder: AccessFolder
    private let options: AccessOptions
    private let drawsCode: Bool
    private let isJSON: Bool
    private let advertised: AdvertisedAddress?

    /// - Throws: `UsageError` for an address or bounds that cannot be.
    init(_ arguments: ParsedArguments) throws(UsageError) {
        guard arguments.operands.isEmpty else { throw arguments.error("it takes no operands") }
        directory = try arguments.requiredString("dir")
        folder = try arguments.accessFolder
        options = try arguments.accessOptions(at: .now, rights: .noRemove)
        drawsCode = arguments.isSet("qr")
        isJSON = arguments.isSet("json")
        advertised = try AdvertisedAddress(arguments)
    }

    func run() -> ExitCode {
        AccessOutput.run { () throws(AccessFault) in
            try folder.requireUsed()
            let address = try ServedAddress(of: directory, advertised: advertised)
            let server = try serverKey()
            let invitation = try Invitation(
                folder, host: address.host, port: address.port, server: server, options: options,
                drawsCode: drawsCode, at: .now)
            for warning in address.warnings { StandardStream.error.write("transfer: \(warning)\n") }
            guard !isJSON else {
                AccessOutput.print([invitation.json])
                return .success
            }
            if drawsCode, !invitation.hasCode {
                StandardStream.error.write("transfer: No QR code: libqrencode is not installed.\n")
            }
            StandardStream.error.write(
                "Run this on the other machine by \(invitation.expires), with any file; it works once. The client that "
                    + "does may \(AccessOutput.sentence(options)):\n")
            invitation.print()
            return .success
        }
    }

    /// A server of an earlier version has not kept it; it shows that of its identity, unless it is given a certificate.
    private func serverKey() throws(AccessFault) -> KeyFingerprint {
        if let key = try folder.shownKey() { return key }
        do throws(KeyPair.Fault) {
            return KeyFingerprint(of: try ServerIdentity.open(in: folder.path).identity.key)
        } catch {
            throw AccessFault(error.message)
        }
    }
}
