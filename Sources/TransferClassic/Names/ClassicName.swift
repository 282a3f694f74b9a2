package import TransferModel

/// Names of files that arrive over classic framings: made if the framing carries none, checked otherwise.
package enum ClassicName {
    /// The most characters of a sender's name in a file name; a longer one is cut.
    private static let longestSender = 32

    /// A name for content without one: `picture-20261122-101500-7f3a.png`, or with its sender
    /// `picture-20261122-101500-alice-7f3a.png`.
    ///
    /// - Parameters:
    ///   - kind: the first part of the name.
    ///   - time: when the content arrived, shown in UTC; years beyond 9999 have more digits.
    ///   - sender: the client's name, of which only ASCII letters, digits, `_` and `-` are used.
    ///   - mark: distinguishes content of the same second, as at least four hexadecimal digits.
    ///   - format: the content's format, for the file extension.
    package static func made(
        kind: ContentKind, time: Timestamp, sender: String? = nil, mark: UInt32, format: ContentFormat
    ) -> String {
        let parts = [kind.name, moment(time), sender.flatMap(plain), String(hexadecimal: mark, digits: 4)]
        return parts.compactMap { $0 }.joined(separator: "-") + "." + format.fileExtension
    }

    /// Checks the name that a client sent: UTF-8 of 1 to 255 bytes, one component, without `/`, `\`, control
    /// characters, and not a reserved name. Nil for any other name; only that upload is refused then, with
    /// `invalidPath`.
    ///
    /// A backslash separates folders on the systems of some clients, so it is not accepted in a name.
    package static func told(_ bytes: [UInt8]) -> RelativePath? {
        guard bytes.count <= Limits.pathComponent, let text = String(validating: bytes, as: UTF8.self) else {
            return nil
        }
        let isOneName = text.unicodeScalars.allSatisfy { $0 != "/" && $0 != "\\" && !isControl($0) }
        guard isOneName else { return nil }
        return try? RelativePath(text)
    }

    /// C0, delete and C1 (ISO/IEC 6429).
    private static func isControl(_ scalar: Unicode.Scalar) -> Bool {
        scalar.value < 0x20 || (0x7F...0x9F).contains(scalar.value)
    }

    /// The moment in the form `20261122-101500`.
    private static func moment(_ time: Timestamp) -> String {
        let calendar = CalendarTime(secondsSince1970: time.seconds)
        let date = digits(calendar.year, 4) + digits(calendar.month, 2) + digits(calendar.day, 2)
        return date + "-" + digits(calendar.hour, 2) + digits(calendar.minute, 2) + digits(calendar.second, 2)
    }

    private static func digits(_ number: Int64, _ count: Int) -> String {
        let digits = "\(number.magnitude)"
        return String(repeating: "0", count: max(0, count - digits.utf8.count)) + digits
    }

    private static func plain(_ sender: String) -> String? {
        let bytes = sender.utf8.lazy.filter { byte in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"): true
            case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"), UInt8(ascii: "-"): true
            default: false
            }
        }
        let text = String(decoding: bytes.prefix(longestSender), as: UTF8.self)
        return text.isEmpty ? nil : text
    }
}
