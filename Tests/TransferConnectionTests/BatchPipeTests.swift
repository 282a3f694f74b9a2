import Testing
import TransferIO

@testable import TransferConnection

/// Tests of the pipe alone, without socket, pool or waiting.
@Suite struct BatchPipeTests {
    private let pool = BufferPool(size: ToyBatch.bufferSize, count: 64)

    private func pipe(holding bytes: [UInt8] = []) throws -> BatchPipe<ToyBatch> {
        var pipe = BatchPipe<ToyBatch>()
        pipe.begin(in: try #require(pool.takeNow()))
        try #require(pipe.filling).receive(bytes[...])
        return pipe
    }

    // MARK: Whole streams

    /// The stream is cut in two at every byte.
    @Test func findsTheSameFramesHoweverTheStreamIsCut() throws {
        let stream = ToyBatch.stream(of: 0..<40)
        for cut in 0...stream.count {
            var session = ToySession(cuts: [cut, stream.count - cut], of: stream)
            try session.run()
            #expect(session.worked == ToyBatch.frames(0..<40))
        }
    }

    @Test(arguments: 1...ToyBatch.bufferSize + 1)
    func findsTheSameFramesInPiecesOfOneSize(size: Int) throws {
        let stream = ToyBatch.stream(of: 0..<200)
        var session = ToySession(cuts: Array(repeating: size, count: stream.count / size + 1), of: stream)
        try session.run()
        #expect(session.worked == ToyBatch.frames(0..<200))
    }

    /// - Parameter pace: turns of the session per turn of the pool; the slowest pool only works when the session cannot
    ///   do anything else.
    @Test(
        arguments: [1, 2, 3, 7, 50, .max],
        [[.nothing], [.results, .nothing], [.work, .nothing], [.work, .results]] as [[BatchPipe<ToyBatch>.Left]])
    func worksOnAllOfItHoweverSlowThePoolIs(pace: Int, left: [BatchPipe<ToyBatch>.Left]) throws {
        for (size, isScarce) in [(1, false), (5, true), (ToyBatch.bufferSize, false), (1000, true)] {
            let stream = ToyBatch.stream(of: 0..<150)
            var session = ToySession(cuts: Array(repeating: size, count: stream.count / size + 1), of: stream)
            (session.pace, session.left, session.isScarce) = (pace, left, isScarce)
            try session.run()
            #expect(session.worked == ToyBatch.frames(0..<150))
            #expect(session.mostWaiting <= (isScarce ? 2 : 8))
        }
    }

    /// Complete frames are processed, the bytes behind them are dropped, and every buffer is returned.
    @Test(arguments: [1, 4, .max]) func stopsAnywhere(pace: Int) throws {
        let stream = ToyBatch.stream(of: 0..<60)
        for end in 0...stream.count {
            var session = ToySession(cuts: Array(repeating: 7, count: end), of: Array(stream[..<end]))
            session.pace = pace
            try session.run()
            let whole = ToyBatch.frames(0..<60).prefix(session.worked.count)
            #expect(session.worked == Array(whole))
            #expect(session.worked.count == ToyBatch.count(in: stream[..<end]))
            #expect(session.held == 0)
        }
    }

    // MARK: Reading

    @Test func takesABufferOnlyWhenThereIsSomethingToReceive() throws {
        var pipe = BatchPipe<ToyBatch>()
        #expect(pipe.reading(isScarce: false, takesAnswers: true) == .takeBuffer)
        pipe.begin(in: try #require(pool.takeNow()))
        #expect(pipe.reading(isScarce: false, takesAnswers: true) == .receive)
        check(pipe.handOver(), is: false)
        // The batch was empty: an idle connection holds no buffer.
        #expect(pipe.filling == nil)
        #expect(pipe.isDrained)
    }

    @Test func keepsWhatIsNoWholeFrameWithoutABuffer() throws {
        var pipe = try pipe(holding: [3, 1])
        let batch = try #require(pipe.filling)
        #expect(batch.parse() == .everything)
        pipe.parsed(.everything)
        #expect(!pipe.isParsed)
        check(pipe.handOver(), is: false)
        #expect(pipe.filling == nil)
        #expect(!pipe.isParsed)
        pipe.begin(in: try #require(pool.takeNow()))
        #expect(try Array(#require(pipe.filling).input.unparsed) == [3, 1])
    }

    @Test func doesNotReadForAPeerThatTakesNoAnswers() throws {
        var pipe = try pipe(holding: ToyBatch.stream(of: 0..<ToyBatch.mostSteps + 1))
        #expect(pipe.reading(isScarce: false, takesAnswers: false) == .wait)
        #expect(try #require(pipe.filling).parse() == .untilFull)
        pipe.parsed(.untilFull)
        // Frames that were received before are processed.
        #expect(pipe.reading(isScarce: false, takesAnswers: false) == .parse)
        check(pipe.handOver(), is: true)
        #expect(pipe.reading(isScarce: false, takesAnswers: false) == .parse)
        #expect(try #require(pipe.filling).parse() == .everything)
        pipe.parsed(.everything)
        #expect(pipe.reading(isScarce: false, takesAnswers: false) == .wait)
        #expect(pipe.reading(isScarce: false, takesAnswers: true) == .receive)
    }

    @Test(arguments: [true, false]) func doesNotReadWhileTooMuchWaits(isScarce: Bool) throws {
        var pipe = BatchPipe<ToyBatch>()
        let limit = isScarce ? 2 : 8
        for waiting in 0..<limit {
            #expect(pipe.reading(isScarce: isScarce, takesAnswers: true) == .takeBuffer)
            // The batch is full, so the pipe does not wait for more.
            try fill(&pipe)
            check(pipe.handOver(), is: waiting == 0)
        }
        #expect(pipe.reading(isScarce: isScarce, takesAnswers: true) == .wait)
        check(pipe.take().count, is: limit)
        #expect(pipe.reading(isScarce: isScarce, takesAnswers: true) == .takeBuffer)
    }

    /// The frames behind a frame that needs a decision stay, without a buffer.
    @Test func setsAsideWhatHasToWait() throws {
        let stream = ToyBatch.stream(of: 0..<2)
        var pipe = try pipe(holding: stream)
        pipe.parsed(.untilFull)
        check(pipe.handOver(), is: false)
        check(pipe.setAside(), is: false)
        #expect(pipe.filling == nil)
        #expect(pipe.reading(isScarce: false, takesAnswers: false) == .takeBuffer)
        pipe.begin(in: try #require(pool.takeNow()))
        #expect(pipe.reading(isScarce: false, takesAnswers: false) == .parse)
        let batch = try #require(pipe.filling)
        #expect(Array(batch.input.unparsed) == stream)
        #expect(batch.parse() == .everything)
        pipe.parsed(.everything)
        check(pipe.handOver(), is: true)
        check(pipe.take().flatMap(\.found), is: ToyBatch.frames(0..<2))
    }

    /// If a frame needs a decision, the frames before it are processed first. At that moment the pool is still working
    /// on earlier frames, or has finished them.
    @Test(arguments: [false, true]) func setsNothingAsideThatWasFound(poolRests: Bool) throws {
        var pipe = try pipe(holding: ToyBatch.stream(of: 0..<1))
        _ = try #require(pipe.filling).parse()
        pipe.parsed(.everything)
        check(pipe.handOver(), is: true)
        check(pipe.take().count, is: 1)
        pipe.begin(in: try #require(pool.takeNow()))
        let batch = try #require(pipe.filling)
        batch.receive(ToyBatch.stream(of: 1..<2)[...])
        _ = batch.parse()
        pipe.parsed(.untilFull)
        check(pipe.handOver(), is: false)
        if poolRests {
            pipe.worked()
            pipe.rest()
        }
        check(pipe.setAside(), is: poolRests)
        #expect(pipe.isWorking)
        check(pipe.take().flatMap(\.found), is: ToyBatch.frames(1..<2))
    }

    @Test func setsNothingAsideWhereThereIsNothing() throws {
        var pipe = try pipe(holding: [2, 7])
        #expect(try #require(pipe.filling).parse() == .everything)
        pipe.parsed(.everything)
        check(pipe.handOver(), is: false)
        check(pipe.setAside(), is: false)
        #expect(pipe.reading(isScarce: false, takesAnswers: true) == .takeBuffer)
        pipe.begin(in: try #require(pool.takeNow()))
        #expect(pipe.reading(isScarce: false, takesAnswers: true) == .receive)
    }

    // MARK: Working

    /// While the pool is busy anyway, fewer and larger batches are cheaper.
    @Test func fillsUpWhileThePoolIsBusy() throws {
        var pipe = try pipe(holding: ToyBatch.stream(of: 0..<1))
        _ = try #require(pipe.filling).parse()
        pipe.parsed(.everything)
        check(pipe.handOver(), is: true)
        #expect(pipe.isWorking)
        check(pipe.take().count, is: 1)
        pipe.begin(in: try #require(pool.takeNow()))
        let next = try #require(pipe.filling)
        next.receive(ToyBatch.stream(of: 1..<2)[...])
        _ = next.parse()
        pipe.parsed(.everything)
        check(pipe.handOver(), is: false)
        #expect(pipe.filling === next)
        #expect(pipe.hasMore)
        pipe.worked()
        #expect(!pipe.hasWork)
        pipe.rest()
        check(pipe.handOver(), is: true)
        check(pipe.take().flatMap(\.found), is: ToyBatch.frames(1..<2))
    }

    /// A batch that results wait for must not wait for more frames.
    @Test func handsOverWhatResultsWaitFor() throws {
        var pipe = try pipe(holding: ToyBatch.stream(of: 0..<1))
        _ = try #require(pipe.filling).parse()
        pipe.parsed(.everything)
        check(pipe.handOver(), is: true)
        _ = pipe.take()
        pipe.begin(in: try #require(pool.takeNow()))
        let next = try #require(pipe.filling)
        next.receive(ToyBatch.stream(of: 1..<2)[...])
        _ = next.parse()
        pipe.parsed(.everything)
        check(pipe.handOver(), is: false)
        pipe.worked(leaving: .results)
        #expect(pipe.filling == nil)
        #expect(pipe.hasWork)
        check(pipe.take().flatMap(\.found), is: ToyBatch.frames(1..<2))
        // If no batch follows, the pool is asked once more and returns its results.
        pipe.worked(leaving: .results)
        #expect(pipe.hasWork)
        check(pipe.take().isEmpty, is: true)
        pipe.worked()
        #expect(!pipe.hasWork)
        pipe.rest()
        #expect(pipe.isDrained)
    }

    @Test func givesNothingNewToAPoolThatHasWork() throws {
        var pipe = BatchPipe<ToyBatch>()
        try fill(&pipe)
        check(pipe.handOver(), is: true)
        check(pipe.take().count, is: 1)
        try fill(&pipe)
        check(pipe.handOver(), is: false)
        pipe.worked(leaving: .work)
        check(pipe.take().isEmpty, is: true)
        pipe.worked()
        #expect(pipe.hasWork)
        check(pipe.take().count, is: 1)
    }

    @Test func isDrainedOnlyWhenThePoolRests() throws {
        var pipe = BatchPipe<ToyBatch>()
        #expect(pipe.isDrained)
        try fill(&pipe)
        check(pipe.finish(), is: true)
        #expect(!pipe.isDrained)
        _ = pipe.take()
        #expect(!pipe.isDrained)
        pipe.worked()
        #expect(!pipe.isDrained)
        pipe.rest()
        #expect(pipe.isDrained)
    }

    /// A session ends while the pool works.
    @Test func finishesBesideAWorkingPool() throws {
        var pipe = BatchPipe<ToyBatch>()
        try fill(&pipe)
        check(pipe.handOver(), is: true)
        _ = pipe.take()
        pipe.begin(in: try #require(pool.takeNow()))
        let last = try #require(pipe.filling)
        last.receive((ToyBatch.stream(of: 5..<6) + [9, 9])[...])
        _ = last.parse()
        pipe.parsed(.everything)
        check(pipe.finish(), is: false)
        #expect(pipe.isParsed)
        pipe.worked()
        #expect(pipe.hasWork)
        check(pipe.take().flatMap(\.found), is: ToyBatch.frames(5..<6))
    }

    /// `#expect` does not accept expressions that change the pipe.
    private func check<Value: Equatable>(
        _ value: Value, is expected: Value, sourceLocation: SourceLocation = #_sourceLocation
    ) {
        #expect(value == expected, sourceLocation: sourceLocation)
    }

    /// Fills a buffer with complete frames.
    private func fill(_ pipe: inout BatchPipe<ToyBatch>) throws {
        pipe.begin(in: try #require(pool.takeNow()))
        let batch = try #require(pipe.filling)
        batch.receive(ToyBatch.stream(of: 0..<ToyBatch.mostSteps)[...])
        pipe.parsed(batch.parse())
    }
}
