internal import TransferAccess
internal import TransferKeys
internal import TransferModel

/// A pairing code and the command to run on the other machine.
struct Invitation: Sendable {
    /// When the code becomes invalid.
    let expires: UTCTime

    private let id: String
    private let options: AccessOptions
    private let link: TransferLink
    private let drawn: DrawnLink

    /// The name of the code in lists, because no client's name is known yet.
    private static let name = "pairing"

    /// Creates a code that is valid for ten minutes.
    ///
    /// - Parameters:
    ///   - options: the rights and limits of the client that uses it.
    ///   - drawsCode: whether the QR code is drawn even if the output is not a terminal.
    init(
        _ lists: any AccessLists, host: String, port: UInt16, server: KeyFingerprint, options: AccessOptions = .init(),
        drawsCode: Bool = false, at now: UTCTime
    ) throws(AccessFault) {
        expires = now.advanced(bySeconds: AccessSecret.pairingSeconds)
        var options = options
        options.expires = expires
        guard TransferLink(host: host, port: port) != nil else {
            throw AccessFault("No link can have the address '\(host)'; give another with --advertise.")
        }
        let secret = try lists.issue(.pairing, name: Self.name, options: options, at: now)
        guard let link = TransferLink(host: host, port: port, code: secret, server: server) else {
            throw AccessFault("No link can have the address '\(host)'; give another with --advertise.")
        }
        (self.id, self.options, self.link) = (secret.id, options, link)
        drawn = DrawnLink(link.text, isAsked: drawsCode)
    }

    /// Whether there is a QR code to draw.
    var hasCode: Bool { drawn.isDrawn }

    /// The push command with the link, to run on the other machine.
    var command: String { "transfer push photo.png --to '\(link.text)'" }

    /// The code and its link as a JSON object.
    var json: JSONLine { AccessOutput.json("pairing", id, Self.name, options, secret: link.text) }

    /// Draws the QR code if there is room, and prints the command.
    func print() {
        drawn.print()
        StandardStream.output.write(command + "\n")
    }
}
