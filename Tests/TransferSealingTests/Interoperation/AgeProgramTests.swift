import Testing
import TransferTestSupport

@testable import TransferSealing

/// Tests in both directions with Debian's age.
@Suite struct AgeProgramTests {
    private static let sizes = [0, 1, 65_535, 65_536, 65_537, 131_072, 200_000]

    private let directory: TemporaryDirectory
    private let age: AgeProgram

    init() throws {
        directory = try TemporaryDirectory()
        age = AgeProgram(directory)
    }

    @Test(arguments: sizes) func itOpensWhatIsSealedHere(_ size: Int) throws {
        let key = try SealingKey.open(directory.path("key")).key
        let content = Sample.content(size)
        try age.write(Sample.sealed(content, for: [key.recipient]), to: "sealed")
        #expect(try age.run("-d", "-i", "key", "sealed") == content)
    }

    @Test(arguments: sizes) func whatItMakesIsOpenedHere(_ size: Int) throws {
        try age.makeKey("key")
        let key = try #require(try SealingKey.find(directory.path("key")))
        let content = Sample.content(size)
        try age.write(content, to: "content")
        let sealed = try age.run("-r", key.recipient.text, "content")
        #expect(try Sample.opened(sealed, [key]) == content)
    }

    /// Two halves, sealed with a stored state, for two recipients.
    @Test func itOpensWhatWasInterrupted() throws {
        try age.makeKey("one")
        try age.makeKey("two")
        let keys = try ["one", "two"].map { try #require(try SealingKey.find(directory.path($0))) }
        let recipients = keys.map(\.recipient)
        let content = Sample.content(300_000)
        let source = Sample.source(content)
        let state = try SealingState(sealing: source, for: recipients)
        var sealed: [UInt8] = []
        let first = try Sealer(state, sealing: source, for: recipients)
        try first.seal(all: content.prefix(200_000), into: &sealed)
        sealed = Array(sealed.prefix(150_000))
        let kept = try SealingState(decoding: state.encoded, sealing: source, for: recipients)
        let second = try Sealer(kept, sealing: source, for: recipients, from: 150_000)
        try second.seal(all: content[Int(second.contentOffset)...], into: &sealed)
        try second.finish(into: &sealed)
        try age.write(sealed, to: "sealed")
        for name in ["one", "two"] {
            #expect(try age.run("-d", "-i", name, "sealed") == content)
        }
    }

    /// age also refuses a file that is refused here.
    @Test func itRefusesWhatWasChanged() throws {
        let key = try SealingKey.open(directory.path("key")).key
        var sealed = try Sample.sealed(Sample.content(100), for: [key.recipient])
        sealed[sealed.count - 1] ^= 1
        try age.write(sealed, to: "sealed")
        #expect(throws: AgeProgram.Failure.self) { try age.run("-d", "-i", "key", "sealed") }
    }
}
