import Testing
import TransferKeys
import TransferProtocol

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

    @Test func uploadsOfDifferentClientsHaveDifferentIDs() {
        let id = UploadID.random()
        let sources: [Grant.Source] = [.key(Sample.key), .key(KeyPair().key), .token("a"), .token("b"), .everyone]
        let scopes = sources.map { UploadScope($0) } + [.shared]
        #expect(Set(scopes.map { $0.translated(id) }).count == scopes.count)
        #expect(UploadScope.shared.translated(id) == id)
        #expect(UploadScope(.token("a")).translated(id) == UploadScope(.token("a")).translated(id))
        #expect(UploadScope(.owner(Sample.key)).translated(id) == UploadScope(.key(Sample.key)).translated(id))
        #expect(UploadScope(.everyone).translated(.none) == .none)
    }
}
