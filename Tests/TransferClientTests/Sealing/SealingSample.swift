import TransferKeys
import TransferModel
import TransferSealing
import TransferTestSupport

@testable import TransferClient

/// Keys and files that many tests of sealing use.
struct SealingSample {
    let home: TemporaryDirectory
    let bob: SealingKey
    let identity: SealingIdentity

    init() throws {
        home = try TemporaryDirectory()
        bob = try SealingKey()
        identity = SealingIdentity(
            key: KeyPair(), sealing: try SealingKey(), people: KnownPeople(path: home.path("own/known_people")))
    }

    static func opened(_ bytes: [UInt8], _ key: SealingKey) throws -> [UInt8] {
        let opener = Opener([key])
        var content: [UInt8] = []
        try opener.open(bytes.span.bytes, into: &content)
        try opener.finish(into: &content)
        return content
    }

    func write(_ name: String, _ content: [UInt8]) throws -> String {
        try Files.write(home.path(name), content)
        return home.path(name)
    }

    func source(_ path: String) throws -> SealedSource {
        try SealedSource(SourcePlace(named: path, followsLink: true), kind: nil)
    }

    func file(_ path: String, _ place: SealingPlace? = nil) throws -> SealedFile {
        let source = try source(path)
        let state = try SealingState(sealing: source.binding, for: [bob.recipient])
        return SealedFile(source, state, for: [bob.recipient], place)
    }
}

extension ContentReader {
    /// The whole content, read in pieces of this many bytes.
    func all(_ piece: Int = 100_000) throws -> [UInt8] {
        var bytes: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: piece)
        while case let count = try buffer.withUnsafeMutableBytes({ try read(into: $0) }), count > 0 {
            bytes += buffer[..<count]
        }
        return bytes
    }
}

/// Repeats one random piece; generating all bytes would take longer than the test.
func randomBytes(_ count: Int, seed: UInt64) -> [UInt8] {
    let piece = SplitMix64.bytes(seed: seed, min(count, 70_001))
    var bytes: [UInt8] = []
    bytes.reserveCapacity(count + piece.count)
    while bytes.count < count { bytes += piece }
    bytes.removeLast(bytes.count - count)
    return bytes
}
