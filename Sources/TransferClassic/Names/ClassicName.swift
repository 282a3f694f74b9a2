package import TransferModel

/// Names of files that come over classic framings: made where none travels, checked where one does.
package enum ClassicName {
    /// Characters of a sender's name in the name of a file; what is longer is cut.
    private static let longestSender = 32

    /// A name for content that came without one: `picture-20261122-101500-7f3a.png`, or with its sender
    /// `picture-20261122-101500-alice-7f3a.png`.
    ///
    /// - Parameters:
    ///   - kind: what it begins with.
    ///   - time: when the content came, shown in UTC; years beyond 9999 are shown as they are.
    ///   - sender: what the client calls itself. All but ASCII letters, digits, `_` and `-` is left out.
    ///   - mark: tells apart what came in the same second: its four hexadecimal digits, or more for larger numbers.
    ///   - format: of the content, for what the name ends with.
    package static func made(
        kind: ContentKind, time: Timestamp, sender: String? = nil, mark: UInt32, format: ContentFormat
    ) -> String {
        let parts = [kind.name, moment(time), sender.flatMap(plain), String(hexadecimal: mark, digits: 4)]
        return parts.compactMap { $0 }.joined(separator: "-") + "." + format.fileExtension
    }

    /// A name as a client told it, if it can be the name of a file: UTF-8 of 1 to 255 bytes, one component, without `/`, `\`,
    /// control characters, and none of Transfer's own. Nothing for any other: that upload is then refused with
    /// `invalidPath`, and no other is.
    ///
    /// A backslash parts folders for the programs of some clients, who would be surprised to find it in a name.
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

    /// `20261122-101500`.
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
