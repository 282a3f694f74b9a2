import Glibc
import Testing
import TransferKeys
import TransferSystem
import TransferTestSupport

@testable import TransferSealing

@Suite struct SealingKeyFileTests {
    private let folder: TemporaryDirectory
    private var path: String { folder.path(SealingKey.fileName) }

    init() throws {
        folder = try TemporaryDirectory()
    }

    @Test func isMadeOnce() throws {
        #expect(try SealingKey.find(path) == nil)
        let made = try SealingKey.open(path)
        let again = try SealingKey.open(path)
        #expect(made.isNew && !again.isNew && made.key.recipient == again.key.recipient)
        let file = try #require(try OwnFile(reading: path, atMost: 4096))
        #expect(file.isPrivate)
        let lines = String(decoding: file.content, as: UTF8.self).split(separator: "\n")
        #expect(try lines.last.map(String.init) == made.key.text)
        #expect(lines.dropLast().allSatisfy { $0.hasPrefix("#") })
    }

    /// Two processes may open the key file at once.
    @Test func allWhoMakeOneAtOnceHaveTheSame() throws {
        for _ in 0..<10 {
            let directory = try TemporaryDirectory()
            let keys = Locked<Set<SealingRecipient>>([])
            let threads = (0..<4).map { _ in
                TestThread {
                    guard let made = try? SealingKey.open(directory.path("key")) else { return }
                    keys.withLock { _ = $0.insert(made.key.recipient) }
                }
            }
            for thread in threads { thread.join() }
            #expect(keys.withLock { $0.count } == 1)
        }
    }

    @Test func whatOthersCanReadIsNotUsed() throws {
        _ = try SealingKey.open(path)
        chmod(path, 0o640)
        #expect(throws: KeyPair.Fault.self) { try SealingKey.open(path) }
        chmod(path, 0o600)
        #expect(try !SealingKey.open(path).isNew)
    }

    @Test(arguments: [
        "", "# nothing\n", Sample.recipientText + "\n", Sample.secretText + "\n" + Sample.secretText + "\n",
        Sample.secretText.lowercased(), String(repeating: "#\n", count: 3000) + Sample.secretText,
    ]) func whatIsNoKeyIsNotReplaced(_ text: String) throws {
        _ = try OwnFile.write(Array(text.utf8), to: path, replaces: true)
        #expect(throws: KeyPair.Fault.self) { try SealingKey.open(path) }
        #expect(try OwnFile(reading: path, atMost: 8192)?.content == Array(text.utf8))
    }

    /// A file as age-keygen(1) writes it.
    @Test func anotherProgramsFileIsRead() throws {
        let text = "# created: 2026-01-01T00:00:00Z\n# public key: \(Sample.recipientText)\n\(Sample.secretText)\n"
        _ = try OwnFile.write(Array(text.utf8), to: path, replaces: true)
        #expect(try SealingKey.find(path)?.recipient == Sample.key().recipient)
    }
}
