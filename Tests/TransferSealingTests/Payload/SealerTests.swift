import Testing
import TransferKeys

@testable import TransferSealing

@Suite struct SealerTests {
    /// The note, which contains the tag, is written before the file is opened.
    @Test func knowsTheTagThatTheOpenerFinds() throws {
        let sealer = try Sealer(streamFor: [Sample.key().recipient])
        var sealed: [UInt8] = []
        try sealer.seal(all: Sample.content(10), into: &sealed)
        try sealer.finish(into: &sealed)
        let opener = Opener([try Sample.key()])
        var content: [UInt8] = []
        try opener.open(all: sealed, into: &content)
        #expect(opener.tag == sealer.tag)
    }

    static let sizes = [0, 1, 65_535, 65_536, 65_537, 131_072, 196_608, 200_000]

    private let recipients: [SealingRecipient]

    init() throws {
        recipients = [try Sample.key().recipient]
    }

    private func state(_ content: [UInt8]) throws -> SealingState {
        try SealingState(sealing: Sample.source(content), for: recipients)
    }

    /// - Parameter cut: number of bytes per call.
    private func sealed(_ content: [UInt8], _ state: SealingState, from offset: Int = 0, cut: Int = .max) throws
        -> [UInt8]
    {
        let sealer = try Sealer(state, sealing: Sample.source(content), for: recipients, from: UInt64(offset))
        var output: [UInt8] = []
        var rest = content[Int(sealer.contentOffset)...]
        while !rest.isEmpty {
            let piece = rest.prefix(cut)
            try sealer.seal(all: piece, into: &output)
            rest = rest.dropFirst(piece.count)
        }
        try sealer.finish(into: &output)
        return output
    }

    @Test(arguments: sizes) func isAsLongAsTheLayoutSays(_ size: Int) throws {
        let content = Sample.content(size)
        let state = try state(content)
        let whole = try sealed(content, state)
        #expect(UInt64(whole.count) == state.layout.sealedSize)
        #expect(try Sample.opened(whole) == content)
        #expect(whole.starts(with: state.header.bytes))
    }

    @Test(arguments: sizes, [1000, 65_535, 65_536, 65_537, 150_000]) func howeverItIsCut(_ size: Int, _ cut: Int) throws
    {
        let content = Sample.content(size)
        let state = try state(content)
        #expect(try sealed(content, state, cut: cut) == sealed(content, state))
    }

    @Test func byteByByte() throws {
        let content = Sample.content(65_600)
        let state = try state(content)
        #expect(try sealed(content, state, cut: 1) == sealed(content, state))
    }

    /// If sealing continues from a chunk, or from a byte near a chunk's edge, the rest equals that of an uninterrupted
    /// file.
    @Test(arguments: sizes) func goesOnFromAnywhere(_ size: Int) throws {
        let content = Sample.content(size)
        let state = try state(content)
        let whole = try sealed(content, state)
        let lead = Int(state.layout.leadSize)
        let edges = (0...Int(state.layout.chunks)).map { lead + $0 * SealedLayout.sealedChunkSize }
        let offsets = Set(
            edges.flatMap { [$0 - 1, $0, $0 + 1, $0 + 30_000] } + [0, 1, 100, whole.count - 1, whole.count])
        for offset in offsets where (0...whole.count).contains(offset) {
            #expect(try sealed(content, state, from: offset) == Array(whole[offset...]), "from \(offset)")
        }
        #expect(throws: SealingError.self) { try sealed(content, state, from: whole.count + 1) }
    }

    /// A stored state continues with equal bytes.
    @Test func goesOnInAnotherProcess() throws {
        let content = Sample.content(150_000)
        let state = try state(content)
        let again = try SealingState(
            decoding: state.encoded, sealing: Sample.source(content), for: recipients)
        #expect(try sealed(content, again, from: 70_000) == Array(sealed(content, state)[70_000...]))
    }

    /// The secrets are not used for other content or other recipients.
    @Test func anotherSourceGetsNothing() throws {
        let content = Sample.content(10)
        let state = try state(content)
        let others = [try Sample.key(1).recipient]
        for (source, recipients) in [
            (Sample.source(content, "another time"), recipients), (Sample.source(content + [1]), recipients),
            (Sample.source(content), others), (Sample.source(content), recipients + others),
            (Sample.source(content), []),
        ] {
            #expect(throws: SealingError.otherSource) { try Sealer(state, sealing: source, for: recipients) }
        }
    }

    @Test func takesAsMuchAsTheSourceHas() throws {
        let content = Sample.content(70_000)
        let state = try state(content)
        var output: [UInt8] = []
        let sealer = try Sealer(state, sealing: Sample.source(content), for: recipients)
        #expect(throws: SealingError.otherSource) {
            try sealer.seal(all: (content + [0]), into: &output)
        }
        #expect(output.isEmpty)
        #expect(throws: SealingError.otherSource) { try sealer.finish(into: &output) }
        let short = try Sealer(state, sealing: Sample.source(content), for: recipients)
        try short.seal(all: content.dropLast(), into: &output)
        #expect(throws: SealingError.otherSource) { try short.finish(into: &output) }
        let late = try Sealer(state, sealing: Sample.source(content), for: recipients, from: state.layout.sealedSize)
        try late.seal(all: content[65_536...], into: &output)
        try late.finish(into: &output)
    }

    @Test func hasOneEnd() throws {
        let sealer = try Sealer(streamFor: recipients)
        var output: [UInt8] = []
        try sealer.finish(into: &output)
        let size = output.count
        #expect(throws: SealingError.ended) { try sealer.finish(into: &output) }
        #expect(throws: SealingError.ended) {
            try sealer.seal(all: [UInt8](repeating: 1, count: 9), into: &output)
        }
        #expect(output.count == size)
        #expect(try Sample.opened(output).isEmpty)
    }

    /// Two streams share only the form of their headers.
    @Test func streamsHaveSecretsOfTheirOwn() throws {
        let (one, other) = (try Sample.sealed([1, 2, 3]), try Sample.sealed([1, 2, 3]))
        #expect(one.count == other.count && one.suffix(35) != other.suffix(35))
    }
}
