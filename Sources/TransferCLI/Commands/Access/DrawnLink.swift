private import CLinux
private import Glibc
internal import TransferAccess

/// A link as a QR code, so that a phone can read it with its camera.
struct DrawnLink: Sendable {
    private let code: QRCode?

    /// - Parameter isAsked: whether to draw it even if the output is not a terminal, or the terminal is too narrow.
    init(_ text: String, isAsked: Bool) {
        // Load libqrencode now: a server that has started to serve can no longer open it.
        let code = isAsked || isatty(STDOUT_FILENO) == 1 ? QRCode(text) : nil
        self.code = isAsked ? code : code.flatMap { Self.fits($0) ? $0 : nil }
    }

    /// Whether the code is drawn. It is not if libqrencode is missing, or if the output has no room for it and
    /// `isAsked` was false.
    var isDrawn: Bool { code != nil }

    func print() {
        if let code { StandardStream.output.write(code.lines.joined(separator: "\n") + "\n") }
    }

    private static func fits(_ code: QRCode) -> Bool {
        var size = winsize()
        return clinux_terminal_size(STDOUT_FILENO, &size) == 0 && Int(size.ws_col) >= code.columns
    }
}
