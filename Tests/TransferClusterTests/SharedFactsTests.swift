import Testing
import TransferAccess
import TransferClusterModel
import TransferKeys
import TransferModel
import TransferObjects
import TransferPostgres

@testable import TransferCluster

/// What all servers of a cluster share besides content and names: notes, the mark in the bucket, and the key that they show.
@Suite struct SharedFactsTests {
    private let medium = ClusterMedium()

    private func notes() -> ClusterNotes { ClusterNotes(medium.ledger()) }

    // MARK: Notes

    @Test func aNoteIsWrittenForAllServers() throws {
        #expect(try notes().read(.trash) == nil)
        try notes().write(.trash, [1])
        try notes().write(.trash, [2, 3])
        #expect(try notes().read(.trash) == [2, 3])
        #expect(try notes().read(.identity) == nil)
    }

    @Test func theFirstClaimStays() throws {
        #expect(try notes().claim(.identity, [1]) == [1])
        #expect(try notes().claim(.identity, [2]) == [1])
        #expect(try notes().read(.identity) == [1])
    }

    @Test func oneOfManyServersClaims() async throws {
        let claims = await withTaskGroup(of: [UInt8]?.self) { group in
            for number in 0..<8 as Range<UInt8> {
                group.addTask { [medium] in try? ClusterNotes(medium.ledger()).claim(.identity, [number]) }
            }
            return await group.reduce(into: []) { $0.append($1) }
        }
        let first = try #require(claims.first ?? nil)
        #expect(claims.count == 8 && claims.allSatisfy { $0 == first })
    }

    // MARK: The mark

    @Test func aBucketGetsAMark() throws {
        let mark = ClusterMark(medium.bucket)
        #expect(try mark.read() == nil)
        let id = PostgresClusterID()
        try mark.write(id)
        #expect(try mark.read() == id)
    }

    @Test(
        arguments: [
            [], Array("x".utf8), Array(repeating: UInt8(ascii: "0"), count: 33),
            Array("g0000000000000000000000000000000\n".utf8), Array("00000000000000000000000000000000\n\n".utf8),
        ] as [[UInt8]])
    func anotherObjectIsNoMark(_ content: [UInt8]) throws {
        let key = try #require(ObjectKey(ClusterMark.name))
        try medium.bucket.put(key, ObjectContent([content]))
        let error = #expect(throws: ObjectError.self) { try ClusterMark(medium.bucket).read() }
        #expect(error?.reason == .damaged)
    }

    // MARK: The shown key

    @Test func theShownKeyIsForAllServers() throws {
        let lists: any ManagedAccess = ClusterAccess(medium.ledger(), interval: 0)
        #expect(try lists.shownKey() == nil)
        let key = KeyFingerprint(of: KeyPair().key)
        try lists.keep(shownKey: key)
        #expect(try (ClusterAccess(medium.ledger()) as any ManagedAccess).shownKey() == key)
    }
}
