import Testing

@testable import TransferIO

@Suite(.timeLimit(.minutes(10))) struct RegistrationTableTests {
    private final class Handler: ReadinessHandler {
        func ready(_ readiness: Readiness) {}
    }

    @Test func findsTheHandlerByItsTag() {
        var table = RegistrationTable()
        let handlers = (0..<10).map { _ in Handler() }
        let registrations = handlers.map { table.add($0) }
        for (handler, registration) in zip(handlers, registrations) {
            #expect(table.handler(tag: registration.tag) === handler)
        }
        #expect(Set(registrations.map(\.tag)).count == handlers.count)
    }

    @Test func dropsWhatWasMeantForTheSlotsFormerOwner() {
        var table = RegistrationTable()
        let first = table.add(Handler())
        table.remove(first)
        #expect(table.handler(tag: first.tag) == nil)

        let heir = Handler()
        let second = table.add(heir)
        #expect(second.slot == first.slot)
        #expect(second.generation != first.generation)
        #expect(table.handler(tag: first.tag) == nil)
        #expect(table.handler(tag: second.tag) === heir)
    }

    @Test func removingTwiceDoesNotTouchTheHeir() {
        var table = RegistrationTable()
        let first = table.add(Handler())
        table.remove(first)
        let heir = Handler()
        let second = table.add(heir)
        table.remove(first)
        #expect(table.handler(tag: second.tag) === heir)

        // The slot was not freed a second time either, so the next handler does not get it.
        #expect(table.add(Handler()).slot != second.slot)
    }

    @Test(arguments: [UInt64.max, 1, 0xFFFF_FFFF, 1 << 32]) func unknownTagsFindNobody(tag: UInt64) {
        var table = RegistrationTable()
        _ = table.add(Handler())
        #expect(table.handler(tag: tag) == nil)
    }

    @Test func letsGoOfTheHandler() async {
        final class Holder: ReadinessHandler {
            let witness: Witness
            init(_ witness: Witness) { self.witness = witness }
            func ready(_ readiness: Readiness) {}
        }
        var table = RegistrationTable()
        let (registration, gone) = {
            let (witness, gone) = Witness.make()
            return (table.add(Holder(witness)), gone)
        }()
        table.remove(registration)
        await gone.finished()
    }
}
