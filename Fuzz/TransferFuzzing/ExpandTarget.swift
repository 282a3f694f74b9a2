import TransferCodec

/// Input: task (1 byte, see `Task`), the size of the pieces (1 byte), a limit (2 bytes), and for damage an offset and a
/// mask (3 bytes); then a zstd frame, the bytes behind its magic number, or content.
enum ExpandTarget {
    private enum Task: UInt8 {
        /// The rest is a frame.
        case frame
        /// The rest follows a magic number, which a fuzzer would rarely find.
        case header
        /// The rest is content, whose frame is damaged.
        case damage
    }

    private static let magic: [UInt8] = [0x28, 0xb5, 0x2f, 0xfd]

    /// The largest number of bytes of content in a frame.
    private static let capacity = 64 << 10

    private static let compressors = CompressorPool()

    static func run(_ bytes: [UInt8]) throws(Finding) {
        var input = FuzzInput(bytes)
        let task = Task(rawValue: input.byte() % 3) ?? .frame
        let cut = Int(input.byte()) + 1
        let limit = Int(input.integer(UInt16.self))
        switch task {
        case .frame: _ = try read(input.rest(), limit: limit, cut: cut)
        case .header: _ = try read(magic + input.rest(), limit: limit, cut: cut)
        case .damage: try damage(&input, cut: cut)
        }
    }

    /// Reads the frame at once and in pieces, with the given limit and with the capacity only.
    private static func read(_ frame: [UInt8], limit: Int, cut: Int) throws(Finding) -> Result<[UInt8], CodecError> {
        let decoder = ZstdDecoder(capacity: capacity)
        let whole = decode(frame, decoder, limit: capacity)
        let within = decode(frame, decoder, limit: limit)
        switch (whole, within) {
        case (.success(let content), .success(let same)):
            try require(content == same && same.count <= limit, "With a limit of \(limit) it is something else.")
        case (.success, .failure(let error)): try require(error == .tooLarge, "With a limit it is \(error).")
        case (.failure, .success): throw Finding("It is whole with the lower limit only.")
        case (.failure, .failure): break
        }
        try require(decode(frame, decoder, limit: capacity) == whole, "The second time it is something else.")
        try require(expand(frame, cut: cut) == whole, "In pieces of \(cut) it is something else.")
        return whole
    }

    private static func decode(
        _ frame: [UInt8], _ decoder: ZstdDecoder, limit: Int
    ) -> Result<[UInt8], CodecError> {
        Result { () throws(CodecError) in
            try frame.span.bytes.withUnsafeBytes { (bytes) throws(CodecError) in
                Array(try decoder.decode(bytes, limit: limit))
            }
        }
    }

    private static func expand(_ frame: [UInt8], cut: Int) -> Result<[UInt8], CodecError> {
        let expansion = FrameExpansion(limit: capacity)
        var (content, start) = ([UInt8](), 0)
        return Result { () throws(CodecError) in
            repeat {
                let end = min(frame.count, start + cut)
                try frame.span.bytes.extracting(start..<end).withUnsafeBytes { (bytes) throws(CodecError) in
                    try expansion.expand(
                        bytes, .init(isFirst: start == 0, isLast: end == frame.count), .zstd, fault: { $0 }
                    ) { (piece) throws(CodecError) in content += piece }
                }
                start = end
            } while start < frame.count
            return content
        }
    }

    /// A compressed frame is read as the original content; a damaged frame gives content within the limits, or a fault.
    private static func damage(_ input: inout FuzzInput, cut: Int) throws(Finding) {
        let (place, mask) = (Int(input.integer(UInt16.self)), input.byte())
        let content = Array(input.rest().prefix(capacity))
        let method = CompressionMethod(.zstd, level: 1 + place % 9)
        let frame = compressors.lend(method) { compressor in
            content.span.bytes.withUnsafeBytes { bytes in compressor.compress(bytes).map { Array($0) } }
        }
        guard var frame else { return }
        try require(
            try read(frame, limit: content.count, cut: cut) == .success(content), "It is not what was compressed.")
        frame[place % frame.count] ^= mask
        _ = try read(frame, limit: content.count, cut: cut)
    }
}
