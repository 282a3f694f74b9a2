/// The paths in the list of `--files-from`, in order and without empty ones. The list is split while it is read,
/// because it can be long.
struct PathList: Sequence, Sendable {
    private let bytes: [UInt8]
    private let end: UInt8

    /// - Parameter isNullSeparated: whether a NUL byte ends each path instead of a line feed.
    init(_ bytes: [UInt8], isNullSeparated: Bool) {
        self.bytes = bytes
        end = isNullSeparated ? 0 : UInt8(ascii: "\n")
    }

    struct Iterator: IteratorProtocol {
        fileprivate var rest: ArraySlice<UInt8>
        fileprivate let end: UInt8

        mutating func next() -> ArraySlice<UInt8>? {
            while !rest.isEmpty {
                let path = rest.prefix { $0 != end }
                rest = rest.dropFirst(path.count + 1)
                if !path.isEmpty { return path }
            }
            return nil
        }
    }

    func makeIterator() -> Iterator { Iterator(rest: bytes[...], end: end) }

    /// The name under which a listed path is stored: the part after its last `.` or `..`. So a list can say how much of
    /// a path is kept.
    ///
    /// - Returns: nil if no name is left, as for `..`. The directory's own name is used then.
    static func name(of path: String) -> String? {
        let components = path.utf8.split(separator: UInt8(ascii: "/"))
        let kept = components.reversed().prefix { !$0.elementsEqual(".".utf8) && !$0.elementsEqual("..".utf8) }
        return kept.isEmpty ? nil : kept.reversed().map { String(Substring($0)) }.joined(separator: "/")
    }

    /// The list entry for a path that is stored under a name.
    ///
    /// - Returns: nil if the path does not end in the name.
    static func entry(for path: String, storedAs name: String) -> String? {
        if self.name(of: path).map({ $0.utf8.elementsEqual(name.utf8) }) ?? false { return path }
        let (bytes, tail) = (Array(path.utf8), Array("/\(name)".utf8))
        guard bytes.count >= tail.count, bytes.suffix(tail.count).elementsEqual(tail) else { return nil }
        return String(decoding: bytes.dropLast(tail.count), as: UTF8.self) + "/./" + name
    }
}
