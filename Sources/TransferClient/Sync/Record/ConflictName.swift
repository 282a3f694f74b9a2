import Glibc
import TransferIO
import TransferModel

/// The name for the source's version of a file whose own name stays with the target's version:
/// `NAME.conflict-HOST-DATE`, with the host of the source and the file's modification time. So a version that is stored
/// twice gets the same name.
struct ConflictName: Sendable {
    private static let mark = ".conflict-"

    /// Bytes of a date such as `20261231T235959Z`.
    private static let dateSize = 16

    /// The most bytes of a name (NAME_MAX).
    private static let longest = 255

    /// The most names that are tried. A taken name belongs to another version that was changed in the same second.
    private static let mostNumbers = 100

    private let host: String

    /// - Parameter host: the name of a machine, or its address.
    init(host: String) {
        let shown = host.utf8.prefix(64).map { byte -> UInt8 in
            let isPlain = byte.isASCIILetterOrDigit || byte == UInt8(ascii: ".")
            return isPlain ? byte : UInt8(ascii: "-")
        }
        self.host = shown.isEmpty ? "other" : String(decoding: shown, as: UTF8.self)
    }

    /// The name for versions that come from this machine.
    static var here: ConflictName {
        // HOST_NAME_MAX and a NUL (gethostname(2)).
        var name = [CChar](repeating: 0, count: 65)
        guard gethostname(&name, name.count - 1) == 0 else { return ConflictName(host: "client") }
        return ConflictName(
            host: String(decoding: name.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self))
    }

    /// The name for versions that come from a server.
    init(_ server: ServerAddress) {
        switch server.endpoint {
        case .internet(let host, _): self.init(host: host)
        case .unix: self.init(host: "server")
        }
    }

    /// - Parameter isFree: whether a path can be used.
    /// - Returns: nil if no name is free, or if none makes a valid path.
    func path(of entry: SyncEntry, where isFree: (RelativePath) -> Bool) -> RelativePath? {
        let date = entry.modified.text(.seconds, .basic)
        for number in 1...Self.mostNumbers {
            let end = "\(Self.mark)\(host)\(number > 1 ? ".\(number)" : "")-\(date)"
            let name = Self.cut(entry.path.name, to: Self.longest - end.utf8.count) + end
            guard let path = try? entry.path.renamed(name) else { return nil }
            if isFree(path) { return path }
        }
        return nil
    }

    /// The longest prefix of a name that consists of whole characters.
    private static func cut(_ name: Substring, to count: Int) -> String {
        var bytes = Array(name.utf8.prefix(max(0, count)))
        while !bytes.isEmpty, String(validating: bytes, as: UTF8.self) == nil { bytes.removeLast() }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// Whether a file's name has the form that `path` makes.
    static func isOne(_ path: RelativePath) -> Bool {
        let name = Array(path.name.utf8)
        let mark = Array(Self.mark.utf8)
        guard name.count > mark.count + dateSize + 1 else { return false }
        let date = name.suffix(dateSize)
        let isDate = zip(date, "00000000T000000Z".utf8).allSatisfy { byte, form in
            form == UInt8(ascii: "0") ? (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) : byte == form
        }
        guard isDate, name[name.count - dateSize - 1] == UInt8(ascii: "-") else { return false }
        let last = name.count - dateSize - 1 - mark.count
        return last > 0 && (1...last).contains { name[$0..<$0 + mark.count].elementsEqual(mark) }
    }
}

extension UInt8 {
    fileprivate var isASCIILetterOrDigit: Bool {
        switch self {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"):
            true
        default: false
        }
    }
}
