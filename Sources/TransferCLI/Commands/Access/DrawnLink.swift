private import CLinux
private import Glibc
internal import TransferAccess

/// A link as a QR code, for cameras.
struct DrawnLink: Sendable {
    private let code: QRCode?

    /// - Parameter isAsked: whether it is drawn also where the output is no terminal, or one that is too narrow.
    init(_ text: String, isAsked: Bool) {
        // Its library is opened now: a server that has begun to serve cannot open it any more.
        let code = isAsked || isatty(STDOUT_FILENO) == 1 ? QRCode(text) : nil
        self.code = isAsked ? code : code.flatMap { Self.fits($0) ? $0 : nil }
    }

    /// Whether the link can be drawn.
    var isDrawn: Bool { code != nil }

    func print() {
        if let code { StandardStream.output.write(code.lines.joined(separator: "\n") + "\n") }
    }

    private static func fits(_ code: QRCode) -> Bool {
        var size = winsize()
        return clinux_terminal_size(STDOUT_FILENO, &size) == 0 && Int(size.ws_col) >= code.columns
    }
}
