/// A service of another kind, recognised by the first bytes that it sends, for messages to a user who has the wrong
/// port.
package struct ForeignService: Equatable, Sendable {
    /// The name with its article, such as `an SSH server`.
    package let name: String

    /// Bytes that are examined: more than any of these greetings needs.
    package static let openingSize = 64

    /// The beginnings of greetings. If two begin alike, the longer one comes first.
    private static let greetings: [(opening: String, name: String)] = [
        // RFC 4253, section 4.2.
        ("SSH-", "an SSH server"),
        // RFC 9112, section 4.
        ("HTTP/", "a web server"),
        // The answer of a server that interprets the client's first bytes as a request of HTTP/0.9.
        ("<html", "a web server"), ("<HTML", "a web server"),
        ("<!DOCTYPE", "a web server"), ("<!doctype", "a web server"),
        ("@RSYNCD:", "an rsync server"),
        // RFC 1939, section 4; RFC 9051, section 7.1.
        ("+OK", "a POP3 server"), ("* OK", "an IMAP server"), ("* BYE", "an IMAP server"),
        // RFC 6143, section 7.1.1.
        ("RFB ", "a VNC server"),
        // What Redis answers to an unknown command.
        ("-ERR ", "a Redis server"), ("-DENIED ", "a Redis server"),
    ]

    /// - Returns: nil for an unknown service.
    package init?(opening: [UInt8]) {
        let opening = opening.prefix(Self.openingSize)
        if let found = Self.greetings.first(where: { opening.starts(with: $0.opening.utf8) }) {
            name = found.name
        } else if let name = Self.mailOrFiles(opening) {
            self.name = name
        } else {
            return nil
        }
    }

    /// SMTP (RFC 5321, section 4.2) and FTP (RFC 959, section 4.2) servers greet with the same code; the greeting
    /// mostly names the protocol.
    private static func mailOrFiles(_ opening: ArraySlice<UInt8>) -> String? {
        guard opening.starts(with: "220 ".utf8) || opening.starts(with: "220-".utf8) else { return nil }
        let text = String(decoding: opening, as: UTF8.self).uppercased()
        if text.contains("SMTP") { return "a mail server (SMTP)" }
        return text.contains("FTP") ? "an FTP server" : "a mail or FTP server"
    }
}
