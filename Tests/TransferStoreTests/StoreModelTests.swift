import Glibc
import TransferProtocol
import TransferTestSupport
import Testing

@testable import TransferStore

/// Random publications against the rules of the protocol, kept in a dictionary.
@Suite struct StoreModelTests {
    /// Names and what is under them.
    struct Model {
        enum Outcome: Equatable {
            case committed(String)
            case alreadyStored(String)
            case skipped
            case refused(ResultCode)
        }

        var files: [String: [UInt8]] = [:]

        private func isDirectory(_ path: String) -> Bool { files.keys.contains { $0.hasPrefix(path + "/") } }

        private func isBelowAFile(_ path: String) -> Bool { files.keys.contains { path.hasPrefix($0 + "/") } }

        /// For names with one dot at most, which is not their first character.
        private func numbered(_ path: String, _ number: Int) -> String {
            let parts = path.split(separator: ".", omittingEmptySubsequences: false)
            return parts.count == 1 ? "\(path)-\(number)" : "\(parts[0])-\(number).\(parts[1])"
        }

        mutating func publish(_ path: String, _ content: [UInt8], _ policy: ConflictPolicy) -> Outcome {
            if isBelowAFile(path) { return .refused(.pathConflict) }
            var name = path
            var number = 0
            while files[name] != nil || isDirectory(name) {
                if files[name] == content { return .alreadyStored(name) }
                switch policy {
                case .skip: return .skipped
                case .fail: return .refused(.pathConflict)
                case .overwrite where isDirectory(name): return .refused(.pathConflict)
                case .overwrite:
                    files[name] = content
                    return .committed(name)
                case .keepBoth:
                    number += 1
                    name = numbered(path, number)
                }
            }
            files[name] = content
            return .committed(name)
        }
    }

    private func outcome(_ result: Result<Published, StoreError>) -> Model.Outcome {
        switch result {
        case .success(.committed(let path, _)): .committed(path.string)
        case .success(.alreadyStored(let path, _)): .alreadyStored(path.string)
        case .success(.skipped): .skipped
        case .failure(let error): .refused(error.code)
        }
    }

    private static let paths = ["a", "a.b", "d/a", "d/a.b", "d", "d/e/f.g", "d/e", "夏.jpg", "a/x", "a-1"]

    private static let policies: [ConflictPolicy] = [.keepBoth, .keepBoth, .overwrite, .skip, .fail]

    @Test(arguments: [UInt64](1...4)) func random(seed: UInt64) throws {
        var random = SplitMix64(seed: seed)
        let fixture = try StoreFixture(usesOpenat2: seed.isMultiple(of: 2))
        var model = Model()
        for round in 0..<25 {
            var batch: [Publication] = []
            var expected: [Model.Outcome] = []
            for _ in 0..<Int.random(in: 1...8, using: &random) {
                let path = Self.paths.randomElement(using: &random) ?? "a"
                let policy = Self.policies.randomElement(using: &random) ?? .keepBoth
                let byte = UInt8.random(in: 1...4, using: &random)
                let content = [UInt8](repeating: byte, count: .random(in: 0...2, using: &random))
                let asPart = Bool.random(using: &random)
                batch.append(try fixture.publication(path, content, policy, asPart: asPart))
                expected.append(model.publish(path, content, policy))
            }
            #expect(fixture.publish(batch).map(outcome) == expected, "seed \(seed), round \(round)")
            batch.removeAll()
            let files = fixture.visible.filter { !$0.hasSuffix("/") }
            #expect(files == Set(model.files.keys), "seed \(seed), round \(round)")
            #expect(fixture.parts.isEmpty, "seed \(seed), round \(round)")
        }
        for (name, content) in model.files {
            #expect(Files.read(fixture.path(name)) == content, "seed \(seed), \(name)")
        }
    }
}
