import Glibc
import Testing
import TransferKeys
import TransferTestSupport

@testable import TransferAccess

@Suite struct ClientKeyTests {
    private let folder: TemporaryDirectory

    init() throws {
        folder = try TemporaryDirectory()
    }

    @Test func isMadeOnce() throws {
        let key = ClientKey(in: folder.path("a/transfer"))
        #expect(try key.find() == nil)
        let made = try key.open()
        let again = try key.open()
        #expect(made.isNew && !again.isNew && made.pair.key == again.pair.key)
        #expect(try key.find()?.key == made.pair.key)
    }

    @Test func theOldOneIsKept() throws {
        let key = ClientKey(in: folder.path)
        let first = try key.open().pair.key
        let (pair, old) = try key.replace(at: Sample.now)
        #expect(try pair.key != first && key.find()?.key == pair.key)
        let kept = try #require(old)
        #expect(rename(kept, key.path) == 0)
        #expect(try key.find()?.key == first)
    }

    @Test func allOldOnesOfOneSecondAreKept() throws {
        let key = ClientKey(in: folder.path)
        var pairs = [try key.open().pair.key]
        var kept: [String] = []
        for _ in 0..<3 {
            let (pair, old) = try key.replace(at: Sample.now)
            pairs.append(pair.key)
            kept.append(try #require(old))
        }
        #expect(Set(kept).count == 3)
        for (old, pair) in zip(kept, pairs) {
            #expect(rename(old, key.path) == 0)
            #expect(try key.find()?.key == pair)
        }
    }

    @Test func oneThatOthersCanReadIsNotUsed() throws {
        let key = ClientKey(in: folder.path)
        _ = try key.open()
        chmod(key.path, 0o640)
        let fault = #expect(throws: KeyPair.Fault.self) { try key.open() }
        #expect(fault?.message.contains("transfer key new") ?? false)
    }

    @Test func itsLineCanBeAdded() throws {
        let line = ClientKey.line(for: Sample.key)
        #expect(try AuthorizedKey(line: line).key == Sample.key)
    }
}
