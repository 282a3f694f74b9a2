import Glibc
import Testing
import TransferSystem

@testable import TransferIO

@Suite(.timeLimit(.minutes(10))) struct EventLoopRegistrationTests {
    /// Records the events that the loop delivers.
    private final class Recorder: ReadinessHandler {
        let told = Signal()
        var events: [Readiness] = []
        var action: () -> Void = {}

        func ready(_ readiness: Readiness) {
            events.append(readiness)
            action()
            told.fire()
        }
    }

    @Test func tellsWhatIsReady() async throws {
        try await onLoop { actor in
            let pair = try SocketPair()
            let recorder = Recorder()
            let registration = try actor.loop.register(pair.near.number, for: [.input, .output], recorder)
            await recorder.told.wait()
            #expect(recorder.events == [.writable])

            try system("write") { write(pair.far.number, "x", 1) }
            await recorder.told.wait()
            #expect(recorder.events.last?.contains(.readable) == true)

            shutdown(pair.far.number, Int32(SHUT_RDWR))
            await recorder.told.wait()
            #expect(recorder.events.last?.isSuperset(of: [.readable, .failed]) == true)
            actor.loop.deregister(registration)
        }
    }

    /// An event that no handler is interested in wakes nothing, and is delivered as soon as a handler is interested.
    @Test func tellsWhatIsOfInterest() async throws {
        try await onLoop { actor in
            let pairs = [try SocketPair(), try SocketPair()]
            let recorders = [Recorder(), Recorder()]
            var registrations: [Registration] = []
            for (pair, recorder) in zip(pairs, recorders) {
                registrations.append(try actor.loop.register(pair.near.number, for: .input, recorder))
            }
            actor.loop.watch(pairs[0].near.number, registrations[0], for: [])
            for pair in pairs { try system("write") { write(pair.far.number, "x", 1) } }
            await recorders[1].told.wait()
            #expect(recorders.map(\.events) == [[], [.readable]])

            actor.loop.watch(pairs[0].near.number, registrations[0], for: .input)
            await recorders[0].told.wait()
            #expect(recorders.map(\.events) == [[.readable], [.readable]])
            for registration in registrations { actor.loop.deregister(registration) }
        }
    }

    /// Two descriptors become ready together. The handler that runs first closes the other descriptor and registers a
    /// third one under its number. The event for the closed descriptor must not reach any handler.
    @Test func anEventTakenBeforeACloseDoesNotReachWhoeverGotTheNumber() async throws {
        try await onLoop { actor in
            let pairs = [try SocketPair(), try SocketPair()]
            let spare = try SocketPair()
            let recorders = [Recorder(), Recorder()]
            let heir = Recorder()
            var registrations: [Registration] = []
            for (pair, recorder) in zip(pairs, recorders) {
                registrations.append(try actor.loop.register(pair.near.number, for: [.input, .output], recorder))
            }
            for recorder in recorders { await recorder.told.wait() }

            var inherited: Registration?
            for (index, recorder) in recorders.enumerated() {
                recorder.action = {
                    guard inherited == nil else { return }
                    let victim = pairs[1 - index].near.number
                    actor.loop.deregister(registrations[1 - index])
                    // Closes the victim and takes its number in one step.
                    dup2(spare.near.number, victim)
                    inherited = try? actor.loop.register(victim, for: [.input, .output], heir)
                }
            }
            for pair in pairs { try system("write") { write(pair.far.number, "x", 1) } }
            await heir.told.wait()
            #expect(heir.events == [.writable])
            #expect(recorders.map(\.events.count).sorted() == [1, 2])

            try system("write") { write(spare.far.number, "x", 1) }
            await heir.told.wait()
            #expect(heir.events.last?.contains(.readable) == true)
            let survivor = recorders[0].events.count == 2 ? 0 : 1
            actor.loop.deregister(registrations[survivor])
            if let inherited { actor.loop.deregister(inherited) }
        }
    }

    @Test func whatCannotBeWatchedIsRefusedAndForgotten() async throws {
        try await onLoop { actor in
            let file = Descriptor(try system("open") { open("/proc/self/exe", O_RDONLY | O_CLOEXEC) })
            weak var forgotten: Recorder?
            do {
                let recorder = Recorder()
                forgotten = recorder
                #expect(throws: SystemError(errno: EPERM, call: "epoll_ctl")) {
                    _ = try actor.loop.register(file.number, for: .input, recorder)
                }
            }
            #expect(forgotten == nil)
        }
    }
}
