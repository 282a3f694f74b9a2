private import Glibc

extension String {
    /// Whether both strings have the same bytes in UTF-8. Strings that are equal may have different bytes: `é` can be
    /// one scalar or two.
    package func hasSameBytes(as other: String) -> Bool {
        utf8.count == other.utf8.count && (isStoredAlike(other) ?? utf8.elementsEqual(other.utf8))
    }

    /// Hashes the bytes in UTF-8. The hash of a `String` is computed from its normal form. It is slow, and many names
    /// have the same hash, so a client could choose names that make a table slow.
    package func hashBytes(into hasher: inout Hasher) {
        var copy = self
        copy.withUTF8 { hasher.combine(bytes: UnsafeRawBufferPointer($0)) }
        hasher.combine(0xFF as UInt8)
    }

    /// Compares the bytes in a tenth of the time if both strings are stored as UTF-8; nil if one of them is not.
    private func isStoredAlike(_ other: String) -> Bool? {
        utf8.withContiguousStorageIfAvailable { own in
            other.utf8.withContiguousStorageIfAvailable { other in
                guard let a = own.baseAddress, let b = other.baseAddress else { return own.isEmpty }
                return memcmp(a, b, own.count) == 0
            }
        } ?? nil
    }
}
