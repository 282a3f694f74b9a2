import Glibc
import Testing
import TransferModel
import TransferProtocol
import TransferTestSupport

@testable import TransferIntake
@testable import TransferServer

extension ServerTests {
    /// Uploads that are sent again with their ID.
    @Suite(.overEachStore) struct ReplayTests {
        @Test func getsTheSameAcknowledgement() async throws {
            try await serving { server in
                let id = UploadID.random()
                let first = try server.greetedClient()
                first.send(Frames.upload("photo.png", [1]) + Frames.upload("photo.png", [2], id: id))
                let acknowledged = try [first.result(), first.result()].first { $0.id == id }
                #expect(acknowledged?.storedPath == "photo-1.png")
                let second = try server.greetedClient()
                second.send(Frames.upload("photo.png", [2], id: id))
                #expect(try second.result() == acknowledged)
                second.send(Frames.begin("photo.png", size: 1, id: id, expectsAccept: true))
                #expect(try second.result() == acknowledged)
                second.send(.abort)
                #expect(server.tree == ["photo-1.png", "photo.png"])
            }
        }

        /// The result contains the stored path unless its bytes equal those of the requested path.
        @Test(arguments: [("\u{E9}", "\u{E9}", nil), ("\u{E9}", "e\u{301}", "\u{E9}"), ("K", "\u{212A}", "K")])
        func thePathIsToldByItsBytes(_ stored: String, _ asked: String, _ told: String?) async throws {
            try await serving { server in
                let id = UploadID.random()
                let client = try server.greetedClient()
                client.send(Frames.upload(stored, [1], id: id))
                #expect(try client.result().storedPath == nil)
                client.send(Frames.upload(asked, [1], id: id))
                let again = try client.result()
                #expect(again.storedPath.map { Array($0.utf8) } == told.map { Array($0.utf8) })
            }
        }

        @Test func withOtherContentIsRefused() async throws {
            try await serving { server in
                let id = UploadID.random()
                let client = try server.greetedClient()
                client.send(Frames.upload("x", [1], id: id))
                #expect(try client.result().code == .committed)
                client.send(Frames.upload("x", [2], id: id))
                #expect(try client.result().code == .contentMismatch)
                client.send(Frames.upload("x", [1, 2], id: id))
                #expect(try client.result().code == .contentMismatch)
                #expect(server.tree == ["x"])
                #expect(server.content("x") == [1])
            }
        }

        @Test(.directoryOnly) func storesAgainWhatWasRemoved() async throws {
            try await serving { server in
                let id = UploadID.random()
                let client = try server.greetedClient()
                client.send(Frames.upload("d/x", [1, 2], id: id))
                #expect(try client.result().code == .committed)
                unlink(server.directory.path("store/d/x"))
                client.send(Frames.upload("d/x", [1, 2], id: id))
                #expect(try client.result().code == .committed)
                #expect(server.content("d/x") == [1, 2])
                truncate(server.directory.path("store/d/x"), 1)
                client.send(Frames.upload("d/x", [1, 2], id: id))
                let result = try client.result()
                #expect(result.storedPath == "d/x-1")
                #expect(server.content("d/x-1") == [1, 2])
            }
        }

        /// An acknowledgement says where the content is stored, not where this `begin` requested it.
        @Test func underAnotherPathNamesTheStoredOne() async throws {
            try await serving { server in
                let id = UploadID.random()
                let client = try server.greetedClient()
                client.send(Frames.upload("first", [1, 2], id: id))
                #expect(try client.result().code == .committed)
                client.send(Frames.upload("second", [8, 9]))
                #expect(try client.result().code == .committed)
                client.send(Frames.upload("second", [1, 2], id: id))
                let result = try client.result()
                #expect(result.storedPath == "first")
                #expect(result.digest == Frames.digest([1, 2]))
                #expect(server.tree == ["first", "second"])
            }
        }

        @Test func ofAFailureIsANewUpload() async throws {
            try await serving { server in
                let id = UploadID.random()
                let client = try server.greetedClient()
                client.send(Frames.begin("x", size: 2, id: id) + Frames.data([1, 2]) + Frames.end([9]))
                #expect(try client.result().code == .sizeMismatch)
                client.send(Frames.upload("x", [1, 2], id: id))
                #expect(try client.result().code == .committed)
            }
        }

        /// An older connection, which the client has lost, is about to complete the upload.
        @Test(arguments: [ConflictPolicy.keepBoth, .overwrite, .fail, .skip])
        func whileTheFirstIsBeingCompletedHasToComeOnceMore(_ conflict: ConflictPolicy) async throws {
            try await serving { server in
                let id = UploadID.random()
                let recent = server.server.core.intake.known.recent
                #expect(recent.claim([.init(id: id, begun: 0)]).isEmpty)
                let client = try server.greetedClient()
                if conflict == .skip { #expect(server.put([1, 2], "x")) }
                client.send(Frames.upload("x", [1, 2], id: id, conflict: conflict))
                #expect(try client.result().code == .busy)
                #expect(server.parts.isEmpty)
                recent.release([id])
                client.send(Frames.upload("x", [1, 2], id: id, conflict: conflict))
                #expect(try client.result().code == (conflict == .skip ? .skipped : .committed))
                #expect(server.tree == ["x"])
            }
        }

        /// The older connection may be dead without the server's knowledge, so the newer one does not wait for it.
        @Test(arguments: [ConflictPolicy.keepBoth, .overwrite, .fail, .skip])
        func besideTheOlderConnectionIsStoredOnce(_ conflict: ConflictPolicy) async throws {
            try await serving { server in
                let id = UploadID.random()
                let content = [UInt8](repeating: 7, count: 5_000_000)
                let older = try server.greetedClient()
                let begin = Frames.begin("x", size: 5_000_000, id: id, conflict: conflict, expectsAccept: true)
                older.send(begin)
                try older.expectAccept()
                let newer = try server.greetedClient()
                newer.send(begin + Frames.stored(content) + Frames.end(content))
                try newer.expectAccept()
                let acknowledged = try newer.result()
                #expect(acknowledged.code == .committed)
                older.send(Frames.stored(content) + Frames.end(content))
                let late = try older.result()
                // Another server has not heard of the first acknowledgement, and finds the content stored.
                #expect(server.isCluster ? late.isAcknowledgement : late == acknowledged)
                #expect(server.tree == ["x"])
                #expect(server.parts.isEmpty)
            }
        }
    }
}
