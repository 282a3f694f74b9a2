private import CLinux
private import Glibc
internal import TransferAccess
internal import TransferKeys

/// A pairing code and the line to be run on the other machine.
struct Invitation {
    private let link: TransferLink
    private let expires: UTCTime

    /// Makes a code that is good for ten minutes.
    ///
    /// - Parameter options: what the client may do that uses it.
    init(
        _ folder: AccessFolder, host: String, port: UInt16, server: KeyFingerprint, options: AccessOptions,
        at now: UTCTime
    ) throws(AccessFault) {
        expires = now.advanced(bySeconds: AccessFolder.pairingSeconds)
        var options = options
        options.expires = expires
        guard TransferLink(host: host, port: port) != nil else {
            throw AccessFault("No link can have the address '\(host)'; give another with --advertise.")
        }
        let code = try folder.issue(.pairing, name: "pairing", options: options, at: now)
        guard let link = TransferLink(host: host, port: port, code: code, server: server) else {
            throw AccessFault("No link can have the address '\(host)'; give another with --advertise.")
        }
        self.link = link
    }

    /// The line.
    var command: String { "transfer push photo.png --to '\(link.text)'" }

    /// Prints the line, alone on standard output if that is no terminal, and draws the link where there is room.
    func print(drawsCode: Bool) {
        if drawsCode || isatty(STDOUT_FILENO) == 1, let code = QRCode(link.text), drawsCode || fits(code) {
            StandardStream.output.write(code.lines.joined(separator: "\n") + "\n")
        } else if drawsCode {
            StandardStream.error.write("transfer: No QR code: libqrencode is not installed.\n")
        }
        StandardStream.error.write("Run this on the other machine by \(expires), with any file; it works once:\n")
        StandardStream.output.write(command + "\n")
    }

    private func fits(_ code: QRCode) -> Bool {
        var size = winsize()
        return clinux_terminal_size(STDOUT_FILENO, &size) == 0 && Int(size.ws_col) >= code.columns
    }
}
