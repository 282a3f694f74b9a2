extension String {
    /// Two digits for each byte, lower case.
    package init(hexadecimal bytes: some Collection<UInt8>) {
        self.init(unsafeUninitializedCapacity: 2 * bytes.count) { digits in
            var end = 0
            for byte in bytes {
                digits[end] = Self.digit(byte >> 4)
                digits[end + 1] = Self.digit(byte & 15)
                end += 2
            }
            return end
        }
    }

    private static func digit(_ value: UInt8) -> UInt8 {
        value < 10 ? UInt8(ascii: "0") + value : UInt8(ascii: "a") + value - 10
    }
}
