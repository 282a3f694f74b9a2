import Glibc
import Testing
import TransferSystem
import TransferTestSupport

@testable import TransferKeys

/// The file of a key pair.
@Suite struct KeyFileTests {
    private static let wording = KeyPair.Wording(name: "The key", harm: "harm", remedy: "Remedy.", repair: "Repair.")

    /// Whoever loses the race takes the key that is there, or two of them go on with different ones.
    @Test func allWhoMakeOneAtOnceHaveTheSame() throws {
        for _ in 0..<20 {
            let directory = try TemporaryDirectory()
            let keys = Locked<Set<PublicKey>>([])
            let threads = (0..<4).map { _ in
                TestThread {
                    guard let made = try? KeyPair.open(directory.path("key.pem"), Self.wording) else { return }
                    keys.withLock { _ = $0.insert(made.pair.key) }
                }
            }
            for thread in threads { thread.join() }
            #expect(keys.withLock { $0.count } == 1)
        }
    }

    /// An X25519 key (RFC 8410) is as long, and its algorithm has the number before that of Ed25519.
    @Test func aKeyOfAnotherAlgorithmIsNone() throws {
        let key = Sample.key.raw
        let text = KeyDocument.pem(KeyDocument.privateLabel, KeyDocument.privatePrefix, key)
        #expect(KeyDocument.key(text, KeyDocument.privateLabel, KeyDocument.privatePrefix) == key)
        var prefix = KeyDocument.privatePrefix
        prefix[11] = 0x6E
        let other = KeyDocument.pem(KeyDocument.privateLabel, prefix, key)
        #expect(KeyDocument.key(other, KeyDocument.privateLabel, KeyDocument.privatePrefix) == nil)
    }
}
