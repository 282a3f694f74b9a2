private import Glibc

extension String {
    /// Whether both are the same bytes in UTF-8. Equal strings need not be: `é` can be one scalar or two.
    package func hasSameBytes(as other: String) -> Bool {
        utf8.count == other.utf8.count && (isStoredAlike(other) ?? utf8.elementsEqual(other.utf8))
    }

    /// Adds the bytes in UTF-8. The hash of a string is that of its normal form: slow, and one for many names, so that
    /// whoever chooses names could make a table of them slow.
    package func hashBytes(into hasher: inout Hasher) {
        var copy = self
        copy.withUTF8 { hasher.combine(bytes: UnsafeRawBufferPointer($0)) }
        hasher.combine(0xFF as UInt8)
    }

    /// The same where both lie in memory as UTF-8, which takes a tenth of the time.
    private func isStoredAlike(_ other: String) -> Bool? {
        utf8.withContiguousStorageIfAvailable { own in
            other.utf8.withContiguousStorageIfAvailable { other in
                guard let a = own.baseAddress, let b = other.baseAddress else { return own.isEmpty }
                return memcmp(a, b, own.count) == 0
            }
        } ?? nil
    }
}
