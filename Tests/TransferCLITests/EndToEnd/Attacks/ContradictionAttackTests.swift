import Testing
import TransferCodec
import TransferModel
import TransferProtocol
import TransferTestSupport

/// A client whose numbers contradict each other or the stored data. The server answers each contradiction with its
/// result code and continues to serve: the server of the first attack also serves the pushes at the end.
@Suite(.ownThreads, .serialized) struct ContradictionAttackTests {
    private static let block = [UInt8](repeating: 7, count: Limits.blockSize)

    private let id = UploadID.random()

    @Test func theEndOfWhatHasNoParts() throws {
        let server = try RunningServer()
        let connection = try FloodConnection(to: server.address)
        // A client may not reuse an ID before the server has answered for it.
        try connection.send(1, window: 0) { _ in question }
        try connection.send(1) { _ in FrameBytes.of(begin(size: 0, .multipart), .end(end([]))) }
        try connection.finish()
        #expect(connection.accepts == 1)
        #expect(connection.results == [.incomplete: 1])
        #expect(try server.push([photo]).end == .exited(0))
    }

    /// The second and the third server know the upload only from its file on disk.
    @Test func aTotalBelowWhatIsThere() throws {
        let first = try RunningServer()
        var connection = try FloodConnection(to: first.address)
        let place = Begin.Part(of: id, offset: 10 * UInt64(Limits.blockSize), total: nil)
        let part = begin(id: .random(), size: UInt64(Limits.blockSize), .part(place))
        let content = Self.block[...].chunks(of: Limits.dataBody).flatMap { FrameBytes.data(Array($0)) }
        try connection.send(1) { _ in FrameBytes.of(part) + content + FrameBytes.of(.end(end(Self.block))) }
        try connection.finish()
        #expect(connection.results == [.staged: 1])
        var server = first
        for _ in 0..<2 {
            server = try server.restarted()
            connection = try FloodConnection(to: server.address)
            let short = begin(id: .random(), size: 5, .part(Begin.Part(of: id, offset: 0, total: 5)))
            try connection.send(1) { _ in FrameBytes.of(short, .abort) + question }
            try connection.finish()
            #expect(connection.results == [.aborted: 1])
            #expect(connection.accepts == 1)
            #expect(try server.push([photo]).end == .exited(0))
        }
    }

    private var question: [UInt8] {
        FrameBytes.of(.resume(Begin(id: id, path: "a", size: nil, digest: .xxh128, scope: .multipart)))
    }

    private func begin(id other: UploadID? = nil, size: UInt64, _ scope: Begin.Scope) -> Message {
        .begin(Begin(id: other ?? id, path: "a", size: size, digest: .xxh128, scope: scope))
    }

    private func end(_ content: [UInt8]) -> End {
        End(size: UInt64(content.count), digest: content.withUnsafeBytes { ContentDigester.digest(.xxh128, $0) })
    }
}

extension ArraySlice<UInt8> {
    fileprivate func chunks(of size: Int) -> [ArraySlice<UInt8>] {
        stride(from: startIndex, to: endIndex, by: size).map { self[$0..<Swift.min(endIndex, $0 + size)] }
    }
}
