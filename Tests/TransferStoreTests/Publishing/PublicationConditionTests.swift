import Glibc
import Testing
import TransferPorts
import TransferModel
import TransferSystem
import TransferTestSupport

@testable import TransferStore

/// A request can depend on the file at its path: the file that is compared is the file that is replaced.
@Suite struct PublicationConditionTests {
    private static let two = Array("two".utf8)

    private let fixture: StoreFixture

    init() throws {
        fixture = try StoreFixture()
    }

    private func publication(
        _ content: [UInt8], _ conflict: ConflictPolicy = .overwrite, if condition: PublicationCondition
    ) throws -> Publication {
        var publication = try fixture.publication("a", content, conflict)
        publication.condition = condition
        return publication
    }

    private func outcome(_ publication: Publication) -> Result<PublicationOutcome, Failure> {
        fixture.publish([publication])[0]
    }

    /// A condition that holds as long as the path has its current file.
    private func unchanged() throws -> PublicationCondition {
        let version = fixture.store.version(at: try RelativePath("a"))
        return PublicationCondition { $0?.version == version }
    }

    @Test(arguments: [true, false]) func oneOfTwoWins(areTogether: Bool) throws {
        try fixture.publish("a", .one)
        let condition = try unchanged()
        let both = try [Self.two, Self.two].map { try publication($0, if: condition) }
        let outcomes = areTogether ? fixture.publish(both) : both.map(outcome)
        #expect(outcomes[0] == .success(try .committed("a")))
        #expect(outcomes[1] == .failure(.conditionFails))
        #expect(Files.read(fixture.path("a")) == Self.two)
    }

    /// The condition fails even if the content is equal: a name that only one client can get is a lock.
    @Test(arguments: [ConflictPolicy.overwrite, .fail]) func oneOfTwoIsNew(conflict: ConflictPolicy) throws {
        #expect(outcome(try publication(.one, conflict, if: .onlyNew)) == .success(try .committed("a")))
        #expect(outcome(try publication(.one, conflict, if: .onlyNew)) == .failure(.conditionFails))
    }

    /// Another client publishes between the comparison and the publication.
    @Test(arguments: [true, false]) func aFileThatComesInBetween(hasFile: Bool) throws {
        if hasFile { try fixture.publish("a", .one) }
        let version = fixture.store.version(at: try RelativePath("a"))
        let isFirst = Locked(true)
        let condition = PublicationCondition { [fixture] found in
            let isSame = found?.version == version
            let wasFirst = isFirst.withLock { first in
                defer { first = false }
                return first
            }
            if wasFirst { _ = try? fixture.publish("a", Self.two, .overwrite) }
            return isSame
        }
        #expect(outcome(try publication([3], if: condition)) == .failure(.conditionFails))
        #expect(Files.read(fixture.path("a")) == Self.two && fixture.visible == ["a"])
    }

    /// The condition holds for the new file as well.
    @Test func aFileThatComesInBetweenAndIsWelcome() throws {
        let isFirst = Locked(true)
        let condition = PublicationCondition { [fixture] _ in
            let wasFirst = isFirst.withLock { first in
                defer { first = false }
                return first
            }
            if wasFirst { _ = try? fixture.publish("a", Self.two, .overwrite) }
            return true
        }
        #expect(outcome(try publication([3], if: condition)) == .success(try .committed("a")))
        #expect(Files.read(fixture.path("a")) == [3])
    }

    @Test func whatIsGoneIsNotReplaced() throws {
        try fixture.publish("a", .one)
        let condition = try unchanged()
        #expect(unlink(fixture.path("a")) == 0)
        #expect(outcome(try publication(Self.two, if: condition)) == .failure(.conditionFails))
        #expect(fixture.visible.isEmpty)
    }

    /// If the condition holds, equal content is not stored again, and other content is stored or refused according to
    /// the policy.
    @Test func whereItHoldsThePolicyDecides() throws {
        try fixture.publish("a", .one)
        let path = try RelativePath("a")
        let outcomes = try [(.one, ConflictPolicy.overwrite), (.one, .fail), (Self.two, .fail), (Self.two, .overwrite)]
            .map {
                outcome(try publication($0, $1, if: try unchanged()))
            }
        #expect(
            outcomes[0] == .success(.alreadyStored(path, nil)) && outcomes[1] == .success(.alreadyStored(path, nil)))
        #expect(outcomes[2] == .failure(Failure(.pathConflict, "a exists already, with other content.")))
        #expect(outcomes[3] == .success(.committed(path, nil)))
    }

    /// A link refers to another place, and has no version for a condition.
    @Test func aLinkMeetsNoCondition() throws {
        try Files.makeSymlink(fixture.path("a"), to: "elsewhere")
        for condition in [.onlyNew, PublicationCondition { _ in true }] {
            #expect(outcome(try publication(.one, if: condition)) == .failure(.conditionFails))
        }
    }
}
