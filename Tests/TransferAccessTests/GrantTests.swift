import Testing
import TransferKeys
import TransferModel

@testable import TransferAccess

@Suite struct GrantTests {
    private let confined = Grant(.token("x"), name: "x", options: Sample.options { $0.folder = Sample.path("in/a") })

    @Test func pathsAreBelowTheFolder() throws {
        #expect(try confined.stored(Sample.path("b/c")).string == "in/a/b/c")
        #expect(confined.shown(Sample.path("in/a/b/c"))?.string == "b/c")
        for other in ["in/a", "in/ab/c", "in", "x/in/a/b", "in/b"] {
            #expect(confined.shown(Sample.path(other)) == nil)
        }
        let free = Grant(.everyone, name: "x")
        #expect(try free.stored(Sample.path("b")).string == "b" && free.shown(Sample.path("b"))?.string == "b")
    }

    @Test func whatDoesNotFitThereIsRefused() {
        let deep = Sample.path(Array(repeating: "a", count: Limits.pathDepth).joined(separator: "/"))
        #expect(throws: RelativePath.Fault.self) { try confined.stored(deep) }
    }

    @Test func theSmallerLimitCounts() {
        let grant = Grant(.everyone, name: "x", options: Sample.options { $0.maximumUpload = 10 })
        #expect(grant.maximumUpload(of: 5) == 5 && grant.maximumUpload(of: 50) == 10)
        #expect(Grant(.everyone, name: "x").maximumUpload(of: 50) == 50)
    }

    private static let secret = Bytes32(Array(0..<32)) ?? Bytes32()

    private func scope(_ source: Grant.Source) throws -> UploadScope {
        try UploadScope(source, secret: Self.secret)
    }

    @Test func uploadsOfDifferentClientsHaveDifferentIDs() throws {
        let id = UploadID.random()
        let sources: [Grant.Source] = [.key(Sample.key), .key(KeyPair().key), .token("a"), .token("b"), .everyone]
        #expect(Set(try sources.map { try scope($0).inner(id) }).count == sources.count)
        #expect(try scope(.everyone).inner(id) == id && UploadScope().inner(id) == id)
        #expect(try scope(.token("a")).inner(id) == scope(.token("a")).inner(id))
        #expect(try scope(.owner(Sample.key)).inner(id) == scope(.key(Sample.key)).inner(id))
        let other = try UploadScope(.token("a"), secret: Bytes32())
        #expect(try other.inner(id) != scope(.token("a")).inner(id), "another server's")
    }

    @Test func theWayBackIsTheWayThere() throws {
        let scope = try scope(.key(Sample.key))
        for _ in 0..<100 {
            let id = UploadID.random()
            #expect(scope.outer(scope.inner(id)) == id && scope.inner(scope.outer(id)) == id)
        }
        #expect(scope.inner(.none) == .none && scope.outer(.none) == .none)
    }
}
