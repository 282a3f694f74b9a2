/// Framing of chunks (RFC 9112, section 7.1): `head`, content and `end` for each chunk, then `last`.
package enum ChunkWriter {
    /// The bytes after the content of a chunk.
    package static let end = HeadWriter.lineEnd

    /// The bytes before the content of a chunk.
    ///
    /// - Parameter size: bytes of content, 1 to `HTTPLimits.length`.
    /// - Returns: nil for another size; a chunk without content would be the last one.
    package static func head(_ size: UInt64) -> [UInt8]? {
        guard (1...HTTPLimits.length).contains(size) else { return nil }
        return Array(String(size, radix: 16).utf8) + end
    }

    /// The last chunk, trailers, and the end of the message.
    ///
    /// - Returns: nil if a name or a value is invalid.
    package static func last(_ trailers: HTTPFields = HTTPFields()) -> [UInt8]? {
        var bytes = Array("0\r\n".utf8)
        return HeadWriter.append(trailers, to: &bytes) ? bytes : nil
    }
}
