/// What `--files-from` lists, and which of it cannot be used.
struct ListedPaths: Sequence, Sendable {
    private let paths: PathList

    /// Listed paths that nothing can be opened by, as they stand there.
    let unusable: [[UInt8]]

    /// - Parameter key: whose value names the list; without one it is empty.
    /// - Throws: `UsageError` when it cannot be read.
    init(_ key: FlagKey<String?, Never>, _ arguments: ParsedArguments) throws(UsageError) {
        let list = arguments.isSet(key.flag) ? try BatchInput(key, arguments).bytes : []
        paths = PathList(list, isNullSeparated: arguments[ClientFlags.null])
        unusable = paths.lazy.filter { Self.text($0) == nil }.map { Array($0) }
    }

    /// Each as it stands there, and what it is stored under.
    func makeIterator() -> AnyIterator<(path: String, name: String?)> {
        var paths = paths.makeIterator()
        return AnyIterator {
            while let bytes = paths.next() {
                guard let path = Self.text(bytes) else { continue }
                return (path, PathList.name(of: path))
            }
            return nil
        }
    }

    /// - Returns: nil for what no path can be.
    private static func text(_ bytes: ArraySlice<UInt8>) -> String? {
        bytes.contains(0) ? nil : String(validating: bytes, as: UTF8.self)
    }
}
