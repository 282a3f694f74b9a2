private import CLinux
private import Glibc
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
    private let code: QRCode?

    /// Of the code in lists: there is no client yet.
    private static let name = "pairing"

    /// Makes a code that is good for ten minutes.
    ///
    /// - Parameters:
    ///   - options: what the client may do that uses it.
    ///   - drawsCode: whether the link is drawn also where the output is no terminal.
    init(
        _ folder: AccessFolder, host: String, port: UInt16, server: KeyFingerprint, options: AccessOptions = .init(),
        drawsCode: Bool = false, at now: UTCTime
    ) throws(AccessFault) {
        expires = now.advanced(bySeconds: AccessFolder.pairingSeconds)
        var options = options
        options.expires = expires
        guard TransferLink(host: host, port: port) != nil else {
            throw AccessFault("No link can have the address '\(host)'; give another with --advertise.")
        }
        let secret = try folder.issue(.pairing, name: Self.name, options: options, at: now)
        guard let link = TransferLink(host: host, port: port, code: secret, server: server) else {
            throw AccessFault("No link can have the address '\(host)'; give another with --advertise.")
        }
        (self.id, self.options, self.link) = (secret.id, options, link)
        // Its library is opened now: a server that has begun to serve cannot open it any more.
        let code = drawsCode || isatty(STDOUT_FILENO) == 1 ? QRCode(link.text) : nil
        self.code = drawsCode ? code : code.flatMap { Self.fits($0) ? $0 : nil }
    }

    /// Whether the link can be drawn.
    var hasCode: Bool { code != nil }

    /// The line.
    var command: String { "transfer push photo.png --to '\(link.text)'" }

    /// The code and the link with it, as an object.
    var json: JSONLine { AccessOutput.json("pairing", id, Self.name, options, secret: link.text) }

    /// Draws the link where there is room, and prints the line.
    func print() {
        if let code { StandardStream.output.write(code.lines.joined(separator: "\n") + "\n") }
        StandardStream.output.write(command + "\n")
    }

    private static func fits(_ code: QRCode) -> Bool {
        var size = winsize()
        return clinux_terminal_size(STDOUT_FILENO, &size) == 0 && Int(size.ws_col) >= code.columns
    }
}
