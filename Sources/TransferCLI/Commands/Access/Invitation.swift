internal import TransferAccess
internal import TransferKeys
internal import TransferModel

/// A pairing code and the line to be run on the other machine.
struct Invitation: Sendable {
    /// When the code is good for nothing any more.
    let expires: UTCTime

    private let id: String
    private let options: AccessOptions
    private let link: TransferLink
    private let drawn: DrawnLink

    /// Of the code in lists: there is no client yet.
    private static let name = "pairing"

    /// Makes a code that is good for ten minutes.
    ///
    /// - Parameters:
    ///   - options: what the client may do that uses it.
    ///   - drawsCode: whether the link is drawn also where the output is no terminal.
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

    /// Whether the link can be drawn.
    var hasCode: Bool { drawn.isDrawn }

    /// The line.
    var command: String { "transfer push photo.png --to '\(link.text)'" }

    /// The code and the link with it, as an object.
    var json: JSONLine { AccessOutput.json("pairing", id, Self.name, options, secret: link.text) }

    /// Draws the link where there is room, and prints the line.
    func print() {
        drawn.print()
        StandardStream.output.write(command + "\n")
    }
}
