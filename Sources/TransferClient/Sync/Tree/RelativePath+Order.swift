import TransferModel

/// The order of a tree in which each folder is followed by all its content.
extension RelativePath {
    /// The folders that contain this path, from the inside out.
    var folders: some Sequence<RelativePath> { sequence(first: self, next: \.parent).dropFirst() }

    enum Order {
        case before
        case same
        case behind
    }

    /// Whether this path is before or behind another one, compared by bytes, with the slash first.
    func order(_ other: RelativePath) -> Order {
        withBytes { own in
            other.withBytes { other in
                let common = min(own.count, other.count)
                var place = 0
                // Most neighbouring paths have the same beginning.
                while place + 8 <= common, own.word(at: place) == other.word(at: place) { place += 8 }
                while place < common, own[place] == other[place] { place += 1 }
                guard place < common else {
                    return own.count == other.count ? .same : own.count < other.count ? .before : .behind
                }
                return own.rank(at: place) < other.rank(at: place) ? .before : .behind
            }
        }
    }

    /// Whether this path is in a folder, at any depth.
    func isBelow(_ folder: RelativePath) -> Bool {
        withBytes { own in
            folder.withBytes { above in
                own.count > above.count && own[above.count] == UInt8(ascii: "/")
                    && own.prefix(above.count).elementsEqual(above)
            }
        }
    }

    /// Whether this path is directly in a folder, and not in a subfolder; nil means the top folder.
    func isDirectly(in folder: RelativePath?) -> Bool {
        guard let folder else { return withBytes { !$0.contains(UInt8(ascii: "/")) } }
        return isBelow(folder)
            && withBytes { own in folder.withBytes { !own[($0.count + 1)...].contains(UInt8(ascii: "/")) } }
    }

    private func withBytes<T>(_ body: (UnsafeRawBufferPointer) -> T) -> T {
        let found = string.utf8.withContiguousStorageIfAvailable { body(UnsafeRawBufferPointer($0)) }
        return found ?? Array(string.utf8).withUnsafeBytes(body)
    }
}

extension UnsafeRawBufferPointer {
    fileprivate func word(at place: Int) -> UInt64 { loadUnaligned(fromByteOffset: place, as: UInt64.self) }

    /// The rank of a byte: the slash ends a name, and a name comes before all others that begin with it.
    fileprivate func rank(at place: Int) -> UInt8 { self[place] == UInt8(ascii: "/") ? 0 : self[place] }
}
