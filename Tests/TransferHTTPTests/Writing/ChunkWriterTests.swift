import Testing
import TransferHTTP

@Suite struct ChunkWriterTests {
    @Test(
        arguments: [
            (1, "1\r\n"), (15, "f\r\n"), (16, "10\r\n"), (65536, "10000\r\n"),
            (9_223_372_036_854_775_807, "7fffffffffffffff\r\n"),
        ] as [(UInt64, String)]) func heads(_ size: UInt64, _ text: String)
    {
        #expect(ChunkWriter.head(size) == Array(text.utf8))
    }

    /// A chunk without content would end the message.
    @Test(arguments: [0, 9_223_372_036_854_775_808, .max] as [UInt64]) func sizesThatAreNone(_ size: UInt64) {
        #expect(ChunkWriter.head(size) == nil)
    }

    @Test func lastChunks() {
        #expect(ChunkWriter.last() == Array("0\r\n\r\n".utf8))
        var trailers = HTTPFields()
        trailers.append("repr-digest", "x")
        #expect(ChunkWriter.last(trailers) == Array("0\r\nRepr-Digest: x\r\n\r\n".utf8))
        trailers.append("x", "a\r\n\r\nGET / HTTP/1.1")
        #expect(ChunkWriter.last(trailers) == nil)
    }

    @Test func thereAndBack() throws {
        var trailers = HTTPFields()
        trailers.append("x", "y")
        var bytes = Array("PUT / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n".utf8)
        for size in [1, 20, 300] as [UInt64] {
            bytes += try #require(ChunkWriter.head(size)) + [UInt8](repeating: 7, count: Int(size)) + ChunkWriter.end
        }
        bytes += try #require(ChunkWriter.last(trailers))
        let heard = MessageListener.requests(bytes, cutAt: Array(bytes.indices))
        #expect(heard.dropFirst() == [.content([UInt8](repeating: 7, count: 321)), .end(trailers)])
    }
}
