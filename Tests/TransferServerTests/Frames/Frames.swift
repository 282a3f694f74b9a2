import TransferCodec
import TransferModel
import TransferProtocol

/// Frames of a well-behaved client, which tests can alter.
enum Frames {
    static let hello = encoded(.hello(Hello(agent: "test")))

    static func hello(features: Features, run: UInt64? = nil) -> [UInt8] {
        encoded(.hello(Hello(agent: "test", features: features, run: run)))
    }

    static func encoded(_ messages: Message...) -> [UInt8] {
        messages.reduce(into: []) { $1.encode(into: &$0) }
    }

    static func data(_ body: [UInt8], _ encoding: BodyEncoding = .stored) -> [UInt8] {
        var frame: [UInt8] = []
        FrameHeader(.data, encoding: encoding, bodyLength: body.count).encode(into: &frame)
        return frame + body
    }

    static func end(_ content: [UInt8], _ function: DigestFunction = .xxh128) -> [UInt8] {
        encoded(.end(End(size: UInt64(content.count), digest: digest(content, function))))
    }

    static func digest(_ content: [UInt8], _ function: DigestFunction = .xxh128) -> Digest {
        content.withUnsafeBytes { ContentDigester.digest(function, $0) }
    }

    static func deflated(_ content: [UInt8]) -> [UInt8] {
        let deflater = Deflater(level: 6)
        var output = [UInt8](repeating: 0, count: content.count + 1024)
        let count = content.withUnsafeBytes { input in
            output.withUnsafeMutableBytes { deflater.deflate(input, into: $0) ?? 0 }
        }
        return Array(output[..<count])
    }

    static func begin(
        _ path: String, size: UInt64?, id: UploadID = .random(), conflict: ConflictPolicy = .keepBoth,
        expectsAccept: Bool = false, digest: DigestFunction = .xxh128
    ) -> [UInt8] {
        encoded(
            .begin(
                Begin(
                    id: id, path: path, size: size, digest: digest, conflict: conflict, expectsAccept: expectsAccept)))
    }

    /// Encodes a complete small upload.
    static func upload(
        _ path: String, _ content: [UInt8], id: UploadID = .random(), conflict: ConflictPolicy = .keepBoth
    ) -> [UInt8] {
        begin(path, size: UInt64(content.count), id: id, conflict: conflict) + data(content) + end(content)
    }
}

extension Frames {
    static func block(_ index: UInt64, _ content: [UInt8], _ function: DigestFunction = .xxh128) -> [UInt8] {
        encoded(.block(BlockDigest(index: index, digest: digest(content, function))))
    }

    /// Encodes content in data frames of at most 1 MiB.
    static func stored(_ content: [UInt8]) -> [UInt8] {
        stride(from: 0, to: content.count, by: Limits.dataBody).reduce(into: []) { frames, start in
            frames += data(Array(content[start..<min(content.count, start + Limits.dataBody)]))
        }
    }

    /// Replaces the byte at this offset of the frame.
    static func patched(_ frame: [UInt8], _ offset: Int, _ byte: UInt8) -> [UInt8] {
        var frame = frame
        frame[offset] = byte
        return frame
    }
}
