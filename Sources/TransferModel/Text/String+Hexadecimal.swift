extension String {
    /// Writes two digits for each byte, in lower case.
    package init(hexadecimal bytes: some Collection<UInt8>) {
        let digits = bytes.withContiguousStorageIfAvailable { String(hexadecimal: UnsafeRawBufferPointer($0)) }
        self = digits ?? String(hexadecimal: Array(bytes))
    }

    private init(hexadecimal bytes: UnsafeRawBufferPointer) {
        self.init(unsafeUninitializedCapacity: 2 * bytes.count) { digits in
            Hexadecimal.write(bytes, to: UnsafeMutableRawBufferPointer(digits))
            return 2 * bytes.count
        }
    }

    /// Writes a number in lower case, with leading zeros if it has fewer than `digits` digits.
    ///
    /// - Parameter digits: 1 to 8.
    package init(hexadecimal number: UInt32, digits: Int = 1) {
        let needed = (UInt32.bitWidth - number.leadingZeroBitCount + 3) / 4
        self = withUnsafeBytes(of: Hexadecimal.digits(of: number).bigEndian) { all in
            String(decoding: all.suffix(Swift.max(needed, digits)), as: UTF8.self)
        }
    }
}
